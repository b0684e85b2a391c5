"""Charts as SVG text, colored by the page's style sheet; they know figures, not studies.

Every chart takes its data and a `Heading`, and returns one element to put into HTML. Charts without
data return a short paragraph that says so.
"""
