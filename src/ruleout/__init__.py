"""ruleout traces a crash in large-language-model serving to its root cause: by evidence, then by controlled trials."""

__version__ = "0.1.0"
