"""The file given to spark-submit: runs the job of one run folder."""

import sys

from jobs.spark.application import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
