# Counts of one small call: they are the same on a busy machine.
import counts


def small(bench):
    if absent := counts.missing():
        print(f"counts: not installed: {', '.join(absent)}")
        return
    instructions, blocks = counts.of_client(bench.stage)
    print(
        f"{'instructions in the C client, one small call':<80} {instructions:8.0f}   wanted <= 8000"
    )
    print(f"{'heap blocks in the C client, one small call':<80} {blocks:8.2f}   wanted <= 4")
    system = counts.of_system(bench.stage)
    print(
        f"{'system calls of all three processes, one small call':<80} {system:8.2f}   wanted <= 10"
    )
