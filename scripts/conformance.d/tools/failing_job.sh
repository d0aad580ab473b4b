#!/bin/sh
# /// tool
# description = "Fails after a moment."
# kind = "read"
# ///
sleep 1.2
echo "The job has failed." >&2
exit 1
