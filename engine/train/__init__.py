"""Training of drafters on text that the target writes itself: generate, features, train, export. One stage a file."""
