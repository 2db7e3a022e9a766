# Sourced by test and check: the tests that run in their own process and wait for nothing, and a slice of the corpus.
# shellcheck shell=sh disable=SC2034
fast_tests="tests/box/test_checker.py tests/architecture tests/syntax tests/format/test_layout.py tests/nrepl/test_bencode.py tests/expand tests/emit tests/types tests/golden/test_golden.py tests/values tests/net tests/web
    tests/conformance/test_corpus.py::test_sample tests/conformance/test_corpus.py::test_own_programs
    tests/conformance/test_reference_names.py tests/diagnostics/test_conditions.py tests/diagnostics/test_check.py
    tests/diagnostics/test_habits.py tests/docs/test_manual.py tests/lib/test_formats.py tests/lib/test_json.py
    tests/lib/test_numbers.py tests/lib/test_strings.py tests/llm/wires/test_wire_ollama.py
    tests/llm/test_llm_contract.py tests/tasks/test_tasks.py tests/workflow/journal/test_workflow_formats.py
    tests/workflow/read/test_workflow_reading.py tests/native/test_native_functions.py"

# without_fast_tests: prints the options of pytest that leave them out, but for those of which the coverage skips a part
without_fast_tests() {
    for path in $fast_tests; do
        case $path in
            tests/native/*) ;;
            *::*) echo "--deselect=$path" ;;
            *) echo "--ignore=$path" ;;
        esac
    done
}
