"""The loop that joins the parts: plan, journal, run, read, judge, update, stop."""
