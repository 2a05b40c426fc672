"""What crosses the middle: calls, questions, answers, changes, in words of no revision and no transport."""
