"""A deployment launched with the tracer inside, by itself (`trace`) or as one step of an investigation (`step`)."""
