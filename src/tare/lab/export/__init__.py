"""What leaves the laboratory beside results: container images."""
