"""The page and its server: gradio, starlette, plotly; no torch. It reads traces and hands jobs to an engine."""
