"""The sections of docs/results.md, a file for each paper: records of one experiment in, Markdown out."""
