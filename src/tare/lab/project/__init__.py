"""What the project's files say: manifests, templates, requirements, builds and versions."""
