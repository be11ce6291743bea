"""How the windows of a trial become its outcomes: one module an analysis, behind one protocol."""
