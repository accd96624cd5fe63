"""The tracer: standard library and torch only."""
