"""Ways for people and programs to ask ruleout something."""
