"""The rotary positions of a configuration, as each library reads them, computed without any of these libraries.

A rotation is what matters: how far each pair of elements is turned per token. Libraries that turn it differently run
the same weights into different text, and none of them says a word.
"""
