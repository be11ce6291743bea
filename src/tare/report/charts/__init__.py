"""The charts of a run, each declared once, for the page and for PNG and SVG."""
