"""The machine: control groups, CPUs, networks, processes, and what must be taken away again."""
