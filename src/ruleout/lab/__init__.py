"""Practice deployments: recipes for tiny real models, built inside an engine's own environment, and the demo's case."""
