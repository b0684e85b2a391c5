"""Torture: kill every verb that writes, fail its writes, read beside it; then compare the results.

`python -m tools.torture --minutes 10 --seed 1`, or `make torture`. A case is a verb and what
happens to it; its name and the seed repeat it. After every case the folder must hold, file by file,
what an undisturbed run writes.

verbs.py         the commands, and the small files they read
watch.py         counts a process's durable operations; kills it or fails one of them
processes.py     one command in a process of its own, with its signals and limits
fingerprint.py   what a folder holds, without times and dates
workshop.py      inputs and undisturbed results, made once
cases.py         all cases, in order
disturbed.py     cases: kills and failing writes, then resumed until done
beside.py        cases: readers beside a writer, two writers
tally.py         counts, and the table at the end
"""
