"""greffe fit: the best classifier for some labels within a time, and what each part was worth."""
