/* Functions of numbers as the runtime has them: of short ints and of floats here, of all else by the function itself. */

COLD static sdyn sema_answer_dyn(PyObject *f, sdyn a, sdyn b) { return sdyn_take(sdyn_called(f, a, b)); }

MAYBE sdyn sema_quotient(sdyn a, sdyn b, PyObject *f) {
    if (LIKELY(ARE_SHORT(a.x, b.x)) && LIKELY(b.x != 0 && b.x != SHORT(-1))) return DYN_INT(SHORT(VALUE(a.x) / VALUE(b.x)));
    return sema_answer_dyn(f, a, b);
}

MAYBE sdyn sema_remainder(sdyn a, sdyn b, PyObject *f) {
    if (LIKELY(ARE_SHORT(a.x, b.x)) && LIKELY(b.x != 0 && b.x != SHORT(-1))) return DYN_INT(SHORT(VALUE(a.x) % VALUE(b.x)));
    return sema_answer_dyn(f, a, b);
}

MAYBE sdyn sema_modulo(sdyn a, sdyn b, PyObject *f) {
    if (LIKELY(ARE_SHORT(a.x, b.x)) && LIKELY(b.x != 0)) return DYN_INT(sint_mod(a.x, b.x));
    return sema_answer_dyn(f, a, b);
}

/* (/ a b) */
MAYBE sdyn sema_divide(sdyn a, sdyn b, PyObject *f) {
    if (ARE_SHORT(a.x, b.x) && b.x != 0 && b.x != SHORT(-1) && VALUE(a.x) % VALUE(b.x) == 0) {
        return DYN_INT(SHORT(VALUE(a.x) / VALUE(b.x)));
    }
    if (a.x == FLOATING && b.x == FLOATING && b.f != 0.0) return DYN_FLOAT(a.f / b.f);
    if (a.x == FLOATING && IS_SHORT(b.x) && b.x != 0) return DYN_FLOAT(a.f / (double)VALUE(b.x));
    if (IS_SHORT(a.x) && b.x == FLOATING && b.f != 0.0) return DYN_FLOAT((double)VALUE(a.x) / b.f);
    return sema_answer_dyn(f, a, b);
}

MAYBE sdyn sema_max(sdyn a, sdyn b, PyObject *f) {
    if (LIKELY(ARE_SHORT(a.x, b.x))) return a.x >= b.x ? a : b;
    if (a.x == FLOATING && b.x == FLOATING && (a.f >= b.f || b.f > a.f)) return a.f >= b.f ? a : b;
    return sema_answer_dyn(f, a, b);
}

MAYBE sdyn sema_min(sdyn a, sdyn b, PyObject *f) {
    if (LIKELY(ARE_SHORT(a.x, b.x))) return a.x <= b.x ? a : b;
    if (a.x == FLOATING && b.x == FLOATING && (a.f <= b.f || b.f < a.f)) return a.f <= b.f ? a : b;
    return sema_answer_dyn(f, a, b);
}

COLD static sdyn sema_answer_dyn1(PyObject *f, sdyn a) {
    PyObject *x = sdyn_box(a), *r = x ? sema_call1(f, x) : NULL;
    Py_XDECREF(x);
    return sdyn_take(r);
}

MAYBE sdyn sema_abs(sdyn a, PyObject *f) {
    if (IS_SHORT(a.x)) return a.x < 0 ? DYN_INT(sint_neg(a.x)) : a;
    if (a.x == FLOATING) return DYN_FLOAT(fabs(a.f));
    return sema_answer_dyn1(f, a);
}

#define SEMA_NUMBER_TEST(name, ints, floats)                              \
    MAYBE int sema_is_##name(sdyn a, PyObject *f) {                       \
        if (LIKELY(IS_SHORT(a.x))) return ints;                           \
        if (a.x == FLOATING) return floats;                               \
        PyObject *x = sdyn_box(a), *r = x ? sema_call1(f, x) : NULL;      \
        Py_XDECREF(x);                                                    \
        return truth_answer(r);                                           \
    }
SEMA_NUMBER_TEST(zero, a.x == 0, a.f == 0.0)
SEMA_NUMBER_TEST(positive, a.x > 0, a.f > 0.0)
SEMA_NUMBER_TEST(negative, a.x < 0, a.f < 0.0)
SEMA_NUMBER_TEST(integer, 1, isfinite(a.f) && floor(a.f) == a.f)

#define SEMA_PARITY(name, truth)                                          \
    MAYBE int sema_is_##name(sdyn a, PyObject *f) {                       \
        if (LIKELY(IS_SHORT(a.x))) return (VALUE(a.x) & 1) == truth;      \
        PyObject *x = sdyn_box(a), *r = x ? sema_call1(f, x) : NULL;      \
        Py_XDECREF(x);                                                    \
        return truth_answer(r);                                           \
    }
SEMA_PARITY(even, 0)
SEMA_PARITY(odd, 1)

MAYBE int sema_is_number(sdyn a, PyObject *f) {
    if (IS_SHORT(a.x) || a.x == FLOATING) return 1;
    PyObject *o = OBJECT(a.x);
    if (PyUnicode_CheckExact(o) || IS_LIST(o) || o == Py_None || IS_A(o, T_Keyword) || IS_A(o, T_Symbol)) return 0;
    return truth_answer(sema_call1(f, o));
}

/* `math.sqrt(x)` */
MAYBE sdyn sema_math_sqrt(sdyn a, PyObject *f) {
    if (a.x == FLOATING && a.f >= 0.0) return DYN_FLOAT(sqrt(a.f));
    if (IS_SHORT(a.x) && a.x >= 0) return DYN_FLOAT(sqrt((double)VALUE(a.x)));
    return sema_answer_dyn1(f, a);
}

/* (math/sqrt x) */
MAYBE sdyn sema_root(sdyn a, PyObject *f) {
    if (a.x == FLOATING && a.f >= 0.0) return DYN_FLOAT(sqrt(a.f));
    return sema_answer_dyn1(f, a);
}

/* Comparisons by functions that are values, which say a truth. */
#define SEMA_COMPARE(name, sign)                                                        \
    MAYBE int sema_##name(sdyn a, sdyn b, PyObject *f) {                                \
        if (LIKELY(ARE_SHORT(a.x, b.x))) return a.x sign b.x;                           \
        if (a.x == FLOATING && b.x == FLOATING) return a.f sign b.f;                    \
        return truth_answer(sdyn_called(f, a, b));                                      \
    }
SEMA_COMPARE(less, <)
SEMA_COMPARE(greater, >)
SEMA_COMPARE(less_or_equal, <=)
SEMA_COMPARE(greater_or_equal, >=)
SEMA_COMPARE(numbers_equal, ==)

/* Operators as values: calls of them from C take these ways. */
#define SEMA_OPERATOR(name, truth_or_dyn)                                                                    \
    static PyObject *sema_value_##name(PyObject *f, PyObject *const *args, size_t flags, PyObject *names) {  \
        if (PyVectorcall_NARGS(flags) == 2 && names == NULL && PyLong_CheckExact(args[0])                    \
            && PyLong_CheckExact(args[1]) && IS_COMPACT(args[0]) && IS_COMPACT(args[1])) {                   \
            Py_ssize_t a = COMPACT(args[0]), b = COMPACT(args[1]);                                           \
            return truth_or_dyn;                                                                             \
        }                                                                                                    \
        return SH->plain_call(f, args, flags, names);                                                        \
    }
SEMA_OPERATOR(less, Py_NewRef(TRUTH(a < b)))
SEMA_OPERATOR(greater, Py_NewRef(TRUTH(a > b)))
SEMA_OPERATOR(less_or_equal, Py_NewRef(TRUTH(a <= b)))
SEMA_OPERATOR(greater_or_equal, Py_NewRef(TRUTH(a >= b)))
SEMA_OPERATOR(numbers_equal, Py_NewRef(TRUTH(a == b)))
SEMA_OPERATOR(plus, PyLong_FromSsize_t(a + b))
SEMA_OPERATOR(minus, PyLong_FromSsize_t(a - b))
SEMA_OPERATOR(times, PyLong_FromSsize_t(a * b))
