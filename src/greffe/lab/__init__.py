"""The original lab's five questions, each answered by an experiment."""
