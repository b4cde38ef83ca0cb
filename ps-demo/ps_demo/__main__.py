"""python3 -m ps_demo run|demo|check|report|build|trainer"""

import sys


def main() -> int:
    command, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("--help", [])
    if command == "run":
        from . import cluster

        return cluster.main(arguments)
    if command == "trainer":
        from . import trainer

        trainer.run(arguments)
    if command == "demo":
        from . import demo

        return demo.main(arguments)
    if command == "check":
        from . import findings

        return findings.main(arguments)
    if command == "report":
        from . import report

        return report.main(arguments)
    if command == "build":
        from . import build

        return build.main()
    print(
        "usage: python3 -m ps_demo run [--help]      servers, trainers, faults, and a command to run beside them\n"
        "       python3 -m ps_demo demo [--help]     records all of them with stackclock, and explains\n"
        "       python3 -m ps_demo check [--help]    sets a profile beside the manifest of its run\n"
        "       python3 -m ps_demo report FILE...    sums up timer reports\n"
        "       python3 -m ps_demo build             builds what this machine has the packages for\n"
        "       python3 -m ps_demo trainer [--help]  one trainer rank (started by run)"
    )
    return 0 if command in ("--help", "-h") else 2


if __name__ == "__main__":
    sys.exit(main())
