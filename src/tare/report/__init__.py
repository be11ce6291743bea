"""Tables, HTML and exports, made from a run folder alone."""
