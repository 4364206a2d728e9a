"""Measurements of this machine. Ratios from alternating runs, medians; never asserted in the test suite."""
