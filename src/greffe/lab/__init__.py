"""The original lab's five questions, answered by running them."""
