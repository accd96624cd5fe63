"""A module is one way of searching: a function from a bench to an answer. It says what it is and where it is from."""
