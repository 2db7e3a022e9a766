"""A brainf*ck interpreter: a list as the tape, a dict of jumps, a while loop over characters."""


def jump_table(code):
    jumps = {}
    stack = []
    for i, c in enumerate(code):
        if c == "[":
            stack.append(i)
        elif c == "]":
            start = stack.pop()
            jumps[i] = start
            jumps[start] = i
    return jumps


def run(code):
    jumps = jump_table(code)
    tape = [0] * 300
    pc = at = steps = 0
    output = []
    while pc < len(code):
        c = code[pc]
        if c == ">":
            at += 1
        elif c == "<":
            at -= 1
        elif c == "+":
            tape[at] = (tape[at] + 1) % 256
        elif c == "-":
            tape[at] = (tape[at] - 1) % 256
        elif c == ".":
            output.append(chr(tape[at]))
        elif c == "[":
            if tape[at] == 0:
                pc = jumps[pc]
        elif c == "]":
            if tape[at] != 0:
                pc = jumps[pc]
        pc += 1
        steps += 1
    return "".join(output), steps


HELLO = "++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+."
SQUARES = (
    "++++[>+++++<-]>[<+++++>-]+<+[>[>+>+<<-]++>>[<<+>>-]>>>[-]++>[-]+>>>+[[-]++++++>>>]"
    "<<<[[<++++++++<++>>-]+<.<[>----<-]<]<<[>>>>>[>>>[-]+++++++++<[>-<-]+++++++++>"
    "[-[<->-]+[<<<]]<[>+<-]>]<<-]<<-]"
)

greeting, greeting_steps = run(HELLO)
table, table_steps = run(SQUARES)
lines = table.strip().split("\n")
print(f"brainf: {greeting} {greeting_steps} {len(lines)} {lines[-1]} {table_steps}")
