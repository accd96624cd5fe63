"""Pure renderers: the same verdict as JSON, as FINDINGS.md, as a page, as words for the terminal."""
