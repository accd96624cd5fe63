"""Where a number went bad: the tracer that runs inside an engine, and what reads its records."""
