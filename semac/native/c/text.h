/* Strings and characters as the runtime has them. */

#define NO_DYN DYN_INT(INT_ERROR)

/* The call of a function of the runtime with values of any kind. */
COLD static PyObject *sema_call_dyn(PyObject *f, PyObject *first, sdyn a, sdyn b) {
    PyObject *x = a.x == INT_ERROR ? NULL : sdyn_box(a), *y = b.x == INT_ERROR ? NULL : sdyn_box(b), *r = NULL;
    PyObject *args[4] = {NULL, first, x, y};
    if (!PyErr_Occurred()) {
        size_t count = x == NULL ? 1 : y == NULL ? 2 : 3;
        r = PyObject_Vectorcall(f, args + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    return r;
}

/* (string-ref text i) */
MAYBE PyObject *sema_string_ref(PyObject *text, sdyn index, PyObject *f) {
    if (LIKELY(PyUnicode_CheckExact(text) && IS_SHORT(index.x)) && index.x >= 0
        && VALUE(index.x) < PyUnicode_GET_LENGTH(text)) return sema_char(text, index);
    return sema_call_dyn(f, text, index, NO_DYN);
}

MAYBE sint sema_string_length(PyObject *text, PyObject *f) {
    if (LIKELY(PyUnicode_CheckExact(text))) return SHORT(PyUnicode_GET_LENGTH(text));
    return sint_answer(sema_call1(f, text));
}

/* (substring text start end) */
MAYBE PyObject *sema_substring(PyObject *text, sdyn start, sdyn end, PyObject *f) {
    if (PyUnicode_CheckExact(text) && IS_SHORT(start.x) && (IS_SHORT(end.x) || end.x == INT_ERROR)) {
        Py_ssize_t from = VALUE(start.x), size = PyUnicode_GET_LENGTH(text), to = IS_SHORT(end.x) ? VALUE(end.x) : size;
        if (0 <= from && from <= to && to <= size) return PyUnicode_Substring(text, from, to);
    }
    return sema_call_dyn(f, text, start, end);
}

FAST PyObject *sema_atom_text(PyObject *atom) { return SLOT(atom, ATOM_NAME); }

/* (str a b ...) */
MAYBE PyObject *sema_string_append(PyObject **args, Py_ssize_t count, PyObject *f) {
    PyObject *all = PyTuple_New(count), *r = NULL;
    if (all == NULL) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *o = args[i], *part = NULL;
        if (PyUnicode_CheckExact(o)) part = Py_NewRef(o);
        else if (PyLong_CheckExact(o) && IS_COMPACT(o)) part = PyObject_Str(o);
        else if (IS_A(o, T_Symbol)) part = Py_NewRef(sema_atom_text(o));
        else if (IS_A(o, T_Keyword)) part = PyUnicode_FromFormat(":%U", sema_atom_text(o));
        else break;
        if (part == NULL) goto done;
        PyTuple_SET_ITEM(all, i, part);
    }
    if (count == 0 || PyTuple_GET_ITEM(all, count - 1) != NULL) r = PyUnicode_Join(C_empty_str, all);
    else r = PyObject_Vectorcall(f, args, (size_t)count, NULL);
done:
    Py_DECREF(all);
    return r;
}

MAYBE PyObject *sema_split(PyObject *text, PyObject *separator, PyObject *f) {
    if (PyUnicode_CheckExact(text) && PyUnicode_CheckExact(separator) && PyUnicode_GET_LENGTH(separator)) {
        return sema_list_take(PyUnicode_Split(text, separator, -1));
    }
    return sema_call2(f, text, separator);
}

/* (string/join items separator) */
MAYBE PyObject *sema_join_items(PyObject *items, PyObject *separator, PyObject *f) {
    if (!IS_LIST(items) || !PyUnicode_CheckExact(separator)) return sema_call2(f, items, separator);
    PyObject *flat = sema_flat(items), *r = NULL;
    if (flat == NULL) return NULL;
    if (PyList_CheckExact(flat) || PyTuple_CheckExact(flat)) {
        Py_ssize_t size = PySequence_Fast_GET_SIZE(flat), i = 0;
        while (i < size && PyUnicode_CheckExact(PySequence_Fast_ITEMS(flat)[i])) i++;
        if (i == size) r = PyUnicode_Join(separator, flat);
        else r = sema_call2(f, items, separator);
    } else r = sema_call2(f, items, separator);
    Py_DECREF(flat);
    return r;
}

/* The keyword of a name. */
MAYBE PyObject *sema_keyword(PyObject *name, PyObject *f) {
    PyObject *atom = PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(O_KEYWORDS, name) : NULL;
    if (atom != NULL) return Py_NewRef(atom);
    return PyErr_Occurred() ? NULL : sema_call1(f, name);
}

/* (string->number text) of ASCII digits with a sign and a point. */
MAYBE sdyn sema_parsed(PyObject *text, PyObject *f) {
    if (PyUnicode_CheckExact(text) && PyUnicode_IS_COMPACT_ASCII(text) && PyUnicode_GET_LENGTH(text) < 18) {
        const char *digits = (const char *)PyUnicode_1BYTE_DATA(text);
        Py_ssize_t size = PyUnicode_GET_LENGTH(text), value = 0, is_minus = size > 0 && digits[0] == '-', i = is_minus;
        while (i < size && digits[i] >= '0' && digits[i] <= '9') value = 10 * value + (digits[i++] - '0');
        if (i > is_minus && i == size) return DYN_INT(SHORT(is_minus ? -value : value));
        Py_ssize_t point = i;
        if (i > is_minus && digits[i] == '.' && i + 1 < size) {
            while (++i < size && digits[i] >= '0' && digits[i] <= '9') {
            }
            if (i == size && FLT_EVAL_METHOD == 0) { /* both are exact, and so is the rounding of their quotient */
                static const double powers[] = {1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
                                                1e14, 1e15};
                Py_ssize_t mantissa = value, places = size - point - 1;
                for (i = point + 1; i < size; i++) mantissa = 10 * mantissa + (digits[i] - '0');
                if (size < 16) return DYN_FLOAT(is_minus ? -((double)mantissa / powers[places]) : (double)mantissa / powers[places]);
            }
            if (i == size) {
                double number = PyOS_string_to_double(digits, NULL, NULL);
                return number == -1.0 && PyErr_Occurred() ? DYN_INT(INT_ERROR) : DYN_FLOAT(number);
            }
        }
    }
    return sdyn_take(sema_call1(f, text));
}

MAYBE PyObject *sema_number_text(sdyn number, PyObject *f) {
    if (IS_SHORT(number.x) && VALUE(number.x) > -100000000000000000 && VALUE(number.x) < 100000000000000000) {
        return PyUnicode_FromFormat("%zd", VALUE(number.x));
    }
    PyObject *o = sdyn_box(number), *r = o ? sema_call1(f, o) : NULL;
    Py_XDECREF(o);
    return r;
}

static int sema_is_simple_text(PyObject *text) {
    if (!PyUnicode_CheckExact(text) || !PyUnicode_IS_COMPACT_ASCII(text)) return 0;
    const Py_UCS1 *letters = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++) {
        if (letters[i] < 32 || letters[i] > 126) return 0;
    }
    return 1;
}

/* (string/pad-left text width fill), pad-right; fill: NULL for a space. */
MAYBE PyObject *sema_pad(PyObject *text, sdyn width, PyObject *fill, int is_left, PyObject *f) {
    if (sema_is_simple_text(text) && IS_SHORT(width.x) && width.x >= 0 && VALUE(width.x) < 65536
        && (fill == NULL || (sema_is_simple_text(fill) && PyUnicode_GET_LENGTH(fill) == 1))) {
        Py_ssize_t size = PyUnicode_GET_LENGTH(text), missing = VALUE(width.x) - size;
        if (missing <= 0) return Py_NewRef(text);
        PyObject *made = PyUnicode_New(size + missing, 127);
        if (made == NULL) return NULL;
        Py_UCS1 *letters = PyUnicode_1BYTE_DATA(made);
        memset(letters + (is_left ? 0 : size), fill ? PyUnicode_1BYTE_DATA(fill)[0] : ' ', (size_t)missing);
        memcpy(letters + (is_left ? missing : 0), PyUnicode_1BYTE_DATA(text), (size_t)size);
        return made;
    }
    PyObject *w = sdyn_box(width), *r = NULL;
    if (w != NULL) r = fill ? sema_call3(f, text, w, fill) : sema_call2(f, text, w);
    Py_XDECREF(w);
    return r;
}

/* Characters: their code point where they are ASCII, else -1. */
FAST int sema_ascii(PyObject *o) {
    if (!IS_A(o, T_Char)) return -1;
    PyObject *text = SLOT(o, ATOM_NAME);
    return PyUnicode_CheckExact(text) && PyUnicode_IS_COMPACT_ASCII(text) ? PyUnicode_1BYTE_DATA(text)[0] : -1;
}

MAYBE int sema_char_is_digit(PyObject *o, PyObject *f) {
    int c = sema_ascii(o);
    return c >= 0 ? c >= '0' && c <= '9' : truth_answer(sema_call1(f, o));
}

MAYBE int sema_char_is_letter(PyObject *o, PyObject *f) {
    int c = sema_ascii(o);
    return c >= 0 ? (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') : truth_answer(sema_call1(f, o));
}

MAYBE int sema_char_is_space(PyObject *o, PyObject *f) {
    int c = sema_ascii(o);
    return c >= 0 ? c == ' ' || (c >= 9 && c <= 13) : truth_answer(sema_call1(f, o));
}

MAYBE PyObject *sema_char_string(PyObject *o, PyObject *f) {
    return IS_A(o, T_Char) ? Py_NewRef(SLOT(o, ATOM_NAME)) : sema_call1(f, o);
}

MAYBE sint sema_char_code(PyObject *o, PyObject *f) {
    int c = sema_ascii(o);
    return c >= 0 ? SHORT(c) : sint_answer(sema_call1(f, o));
}

/* (string->list text) */
MAYBE PyObject *sema_characters(PyObject *text, PyObject *f) {
    if (!PyUnicode_CheckExact(text)) return sema_call1(f, text);
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    PyObject *items = PyList_New(size);
    for (Py_ssize_t i = 0; items != NULL && i < size; i++) {
        PyObject *character = sema_char(text, DYN_INT(SHORT(i)));
        if (character == NULL) Py_CLEAR(items);
        else PyList_SET_ITEM(items, i, character);
    }
    return sema_list_take(items);
}

MAYBE int sema_text_contains(PyObject *text, PyObject *part, PyObject *f) {
    if (PyUnicode_CheckExact(text) && PyUnicode_CheckExact(part)) return PyUnicode_Contains(text, part);
    return truth_answer(sema_call2(f, text, part));
}

/* (char<? a b) and the like */
#define SEMA_COMPARE_CHARS(name, sign)                                                       \
    MAYBE int sema_char_##name(PyObject *a, PyObject *b, PyObject *f) {                      \
        int x = sema_ascii(a), y = sema_ascii(b);                                            \
        return x >= 0 && y >= 0 ? x sign y : truth_answer(sema_call2(f, a, b));              \
    }
SEMA_COMPARE_CHARS(lt, <)
SEMA_COMPARE_CHARS(gt, >)
SEMA_COMPARE_CHARS(le, <=)
SEMA_COMPARE_CHARS(ge, >=)
SEMA_COMPARE_CHARS(eq, ==)

MAYBE PyObject *sema_symbol_text(PyObject *o, PyObject *f) {
    return IS_A(o, T_Symbol) ? Py_NewRef(SLOT(o, ATOM_NAME)) : sema_call1(f, o);
}

/* (list->string chars) */
MAYBE PyObject *sema_text_of_chars(PyObject *xs, PyObject *f) {
    if (!IS_LIST(xs)) return sema_call1(f, xs);
    PyObject *items = sema_flat(xs), *made = NULL;
    if (items == NULL) return NULL;
    if (PyList_CheckExact(items) || PyTuple_CheckExact(items)) {
        Py_ssize_t size = PySequence_Fast_GET_SIZE(items), at = 0;
        made = PyUnicode_New(size, 127);
        for (; made != NULL && at < size; at++) {
            int c = sema_ascii(PySequence_Fast_ITEMS(items)[at]);
            if (c < 0) break;
            PyUnicode_1BYTE_DATA(made)[at] = (Py_UCS1)c;
        }
        if (at < size) Py_CLEAR(made);
    }
    Py_DECREF(items);
    if (made != NULL || PyErr_Occurred()) return made;
    return sema_call1(f, xs);
}

/* `equal` of values whose types C knows: 1, 0, or -1 where Python is to say. */
#define MOST_NESTED 50
static int sema_same(PyObject *a, PyObject *b, int depth) {
    if (a == b) return PyFloat_CheckExact(a) ? PyFloat_AS_DOUBLE(a) == PyFloat_AS_DOUBLE(a) : 1;
    PyTypeObject *type = Py_TYPE(a);
    if (!Py_IS_TYPE(b, type)) {
        int is_foreign = PyList_Check(a) || PyList_Check(b) || PyDict_Check(a) || PyDict_Check(b);
        return is_foreign || PyByteArray_Check(a) || PyByteArray_Check(b) ? -1 : 0;
    }
    if (type == &PyUnicode_Type) return sema_same_text(a, b);
    if (type == &PyLong_Type) return IS_COMPACT(a) && IS_COMPACT(b) ? COMPACT(a) == COMPACT(b) : -1;
    if (type == &PyFloat_Type) return PyFloat_AS_DOUBLE(a) == PyFloat_AS_DOUBLE(b);
    if (IS_A(a, T_Keyword) || IS_A(a, T_Symbol) || IS_A(a, T_Char) || PyBool_Check(a)) return 0;
    if (!(IS_LIST(a) || type == &PyTuple_Type) || depth > MOST_NESTED) return -1;
    PyObject *one = IS_LIST(a) ? sema_flat(a) : Py_NewRef(a), *other = one == NULL ? NULL : IS_LIST(b) ? sema_flat(b) : Py_NewRef(b);
    int answer = -1;
    if (other == NULL) PyErr_Clear();
    else if ((PyList_CheckExact(one) || PyTuple_CheckExact(one)) && (PyList_CheckExact(other) || PyTuple_CheckExact(other))) {
        Py_ssize_t size = PySequence_Fast_GET_SIZE(one);
        answer = size == PySequence_Fast_GET_SIZE(other);
        for (Py_ssize_t i = 0; answer > 0 && i < size; i++) {
            answer = sema_same(PySequence_Fast_ITEMS(one)[i], PySequence_Fast_ITEMS(other)[i], depth + 1);
        }
    }
    Py_XDECREF(one);
    Py_XDECREF(other);
    return answer;
}

MAYBE int sema_equal(PyObject *a, PyObject *b, PyObject *f) {
    int answer = sema_same(a, b, 0);
    return answer >= 0 ? answer : truth_answer(sema_call2(f, a, b));
}
