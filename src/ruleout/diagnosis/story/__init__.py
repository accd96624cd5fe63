"""Several runs of one story, compared: `told` is the way in.

`judging` finds the target and what each run says about it, `factors` the values that runs are compared by, `comparing`
what was varied and what never was, `levels` what is untried, `weighing` what all of it does to the suspects.
"""

from ruleout.diagnosis.story.telling import told

__all__ = ["told"]
