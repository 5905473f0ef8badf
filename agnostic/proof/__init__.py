"""The proof: run a program on several devices with one setting changed, record what it learns, and compare.

`autoload`, `recorder` and `touches` run inside the program and use torch; everything else here never
imports it.
"""
