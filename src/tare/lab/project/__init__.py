"""The project's files: manifests, templates, requirements, builds and versions."""
