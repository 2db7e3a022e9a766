/* Numbers without objects.

sint: an int; an even word is twice its value, an odd one the address of an object plus one. The object is an int that
is too large, so equal ints have equal words or are both objects.
sdyn: any value, in the word of a sint where it is an int, in `f` where it is a float (the word is FLOATING then), else
as an object. Neither keeps an int or a float as an object that fits: what is made of one again is a new object. */

typedef Py_ssize_t sint;
typedef struct {
    sint x;
    double f;
} sdyn;

#define INT_ERROR ((sint)1) /* no object: an error is set */
#define FLOATING ((sint)3)
#define SHORT_MAX (PY_SSIZE_T_MAX >> 1)
#define SHORT_MIN (-SHORT_MAX - 1)
#define IS_SHORT(a) (((a) & 1) == 0)
#define ARE_SHORT(a, b) ((((a) | (b)) & 1) == 0)
#define SHORT(n) ((sint)((size_t)(n) << 1))
#define VALUE(a) ((a) >> 1)
#define OBJECT(a) ((PyObject *)((a) ^ 1))
#define WORD(o) ((sint)(o) | 1)

#if defined(__GNUC__) || defined(__clang__)
#define ADD_OVER(a, b, r) __builtin_add_overflow(a, b, r)
#define SUB_OVER(a, b, r) __builtin_sub_overflow(a, b, r)
#define MUL_OVER(a, b, r) __builtin_mul_overflow(a, b, r)
#else
FAST int ADD_OVER(sint a, sint b, sint *r) {
    *r = (sint)((size_t)a + (size_t)b);
    return ((a ^ *r) & (b ^ *r)) < 0;
}
FAST int SUB_OVER(sint a, sint b, sint *r) {
    *r = (sint)((size_t)a - (size_t)b);
    return ((a ^ b) & (a ^ *r)) < 0;
}
FAST int MUL_OVER(sint a, sint b, sint *r) {
    sint most = (sint)1 << (sizeof(sint) * 4 - 1);
    *r = (sint)((size_t)a * (size_t)b);
    return a >= most || a <= -most || b >= most || b <= -most;
}
#endif

/* Whether an int object is small, and its value then. */
#if PY_VERSION_HEX >= 0x030c0000
#define IS_COMPACT(o) PyUnstable_Long_IsCompact((PyLongObject *)(o))
#define COMPACT(o) PyUnstable_Long_CompactValue((PyLongObject *)(o))
#else
#define IS_COMPACT(o) ((size_t)(Py_SIZE(o) + 1) <= 2)
#define COMPACT(o) (Py_SIZE(o) * (Py_ssize_t)((PyLongObject *)(o))->ob_digit[0])
#endif

COLD static sint sint_of_large(PyObject *o) {
    int over;
    long long value = PyLong_AsLongLongAndOverflow(o, &over);
    if (!over && value <= SHORT_MAX && value >= SHORT_MIN) return SHORT(value);
    Py_INCREF(o);
    return WORD(o);
}

/* The int of an object that is one: a new reference. */
FAST sint sint_of(PyObject *o) {
    if (LIKELY(IS_COMPACT(o))) return SHORT(COMPACT(o));
    return sint_of_large(o);
}

/* The same, of a reference that is given away. */
FAST sint sint_take(PyObject *o) {
    if (UNLIKELY(o == NULL)) return INT_ERROR;
    sint a = sint_of(o);
    Py_DECREF(o);
    return a;
}

FAST PyObject *sint_box(sint a) {
    return LIKELY(IS_SHORT(a)) ? PyLong_FromSsize_t(VALUE(a)) : Py_NewRef(OBJECT(a));
}

FAST void sint_drop(sint a) {
    if (UNLIKELY(!IS_SHORT(a)) && a != INT_ERROR) Py_DECREF(OBJECT(a));
}

FAST sint sint_keep(sint a) {
    if (UNLIKELY(!IS_SHORT(a)) && a != INT_ERROR) Py_INCREF(OBJECT(a));
    return a;
}

COLD static sint sint_slow(sint a, sint b, binaryfunc operation) {
    PyObject *x = sint_box(a), *y = x ? sint_box(b) : NULL, *r = y ? operation(x, y) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return sint_take(r);
}

FAST sint sint_add(sint a, sint b) {
    sint r;
    if (LIKELY(ARE_SHORT(a, b)) && LIKELY(!ADD_OVER(a, b, &r))) return r;
    return sint_slow(a, b, PyNumber_Add);
}

FAST sint sint_sub(sint a, sint b) {
    sint r;
    if (LIKELY(ARE_SHORT(a, b)) && LIKELY(!SUB_OVER(a, b, &r))) return r;
    return sint_slow(a, b, PyNumber_Subtract);
}

FAST sint sint_mul(sint a, sint b) {
    sint r;
    if (LIKELY(ARE_SHORT(a, b)) && LIKELY(!MUL_OVER(a, VALUE(b), &r))) return r;
    return sint_slow(a, b, PyNumber_Multiply);
}

FAST sint sint_floordiv(sint a, sint b) {
    if (LIKELY(ARE_SHORT(a, b)) && LIKELY(b != 0) && LIKELY(b != SHORT(-1))) {
        sint x = VALUE(a), y = VALUE(b), q = x / y;
        if ((x % y != 0) && ((x < 0) != (y < 0))) q--;
        return SHORT(q);
    }
    return sint_slow(a, b, PyNumber_FloorDivide);
}

FAST sint sint_mod(sint a, sint b) {
    if (LIKELY(ARE_SHORT(a, b)) && LIKELY(b != 0) && LIKELY(b != SHORT(-1))) {
        sint y = VALUE(b), m = VALUE(a) % y;
        if (m != 0 && ((m < 0) != (y < 0))) m += y;
        return SHORT(m);
    }
    return sint_slow(a, b, PyNumber_Remainder);
}

FAST sint sint_neg(sint a) {
    sint r;
    if (LIKELY(IS_SHORT(a)) && LIKELY(!SUB_OVER((sint)0, a, &r))) return r;
    return sint_slow(0, a, PyNumber_Subtract);
}

MAYBE sint sint_bits(sint a, sint b, int kind) {
    if (LIKELY(ARE_SHORT(a, b))) return kind == 0 ? (a & b) : kind == 1 ? (a | b) : (a ^ b);
    return sint_slow(a, b, kind == 0 ? PyNumber_And : kind == 1 ? PyNumber_Or : PyNumber_Xor);
}

MAYBE sint sint_rshift(sint a, sint b) {
    if (LIKELY(ARE_SHORT(a, b)) && b >= 0) return SHORT(VALUE(a) >> (b < SHORT(63) ? VALUE(b) : 63));
    return sint_slow(a, b, PyNumber_Rshift);
}

COLD static int sint_compare_slow(sint a, sint b, int op) {
    PyObject *x = sint_box(a), *y = x ? sint_box(b) : NULL;
    int r = y ? PyObject_RichCompareBool(x, y, op) : -1;
    Py_XDECREF(x);
    Py_XDECREF(y);
    if (r < 0) { /* ints compare without error but for memory */
        PyErr_Clear();
        r = 0;
    }
    return r;
}

#define SINT_COMPARE(name, sign, op)                                        \
    FAST int sint_##name(sint a, sint b) {                                  \
        if (LIKELY(ARE_SHORT(a, b))) return a sign b;                       \
        return sint_compare_slow(a, b, op);                                 \
    }
SINT_COMPARE(lt, <, Py_LT)
SINT_COMPARE(le, <=, Py_LE)
SINT_COMPARE(gt, >, Py_GT)
SINT_COMPARE(ge, >=, Py_GE)
SINT_COMPARE(eq, ==, Py_EQ)
SINT_COMPARE(ne, !=, Py_NE)

COLD static double sint_double_slow(PyObject *o) {
    double value = PyLong_AsDouble(o);
    if (value != -1.0 || !PyErr_Occurred()) return value;
    PyErr_Clear();
    return _PyLong_Sign(o) < 0 ? -Py_HUGE_VAL : Py_HUGE_VAL;
}

/* A float for an int, infinite where it is too large. */
FAST double sint_double(sint a) {
    if (LIKELY(IS_SHORT(a))) return (double)VALUE(a);
    return sint_double_slow(OBJECT(a));
}

/* Dynamic values */

#define DYN_INT(a) ((sdyn){(a), 0.0})
#define DYN_FLOAT(v) ((sdyn){FLOATING, (v)})

COLD static sdyn sdyn_of_large(PyObject *o) {
    int over;
    long long value = PyLong_AsLongLongAndOverflow(o, &over);
    return DYN_INT(!over && value <= SHORT_MAX && value >= SHORT_MIN ? SHORT(value) : WORD(o));
}

/* Of a borrowed reference: the object stays borrowed. */
FAST sdyn sdyn_of(PyObject *o) {
    if (Py_IS_TYPE(o, &PyLong_Type)) {
        if (LIKELY(IS_COMPACT(o))) return DYN_INT(SHORT(COMPACT(o)));
        return sdyn_of_large(o);
    }
    if (Py_IS_TYPE(o, &PyFloat_Type)) return DYN_FLOAT(PyFloat_AS_DOUBLE(o));
    return DYN_INT(WORD(o));
}

/* Of a reference that is given away. */
FAST sdyn sdyn_take(PyObject *o) {
    if (UNLIKELY(o == NULL)) return DYN_INT(INT_ERROR);
    sdyn d = sdyn_of(o);
    if (IS_SHORT(d.x) || d.x == FLOATING) Py_DECREF(o);
    return d;
}

FAST PyObject *sdyn_box(sdyn d) {
    if (IS_SHORT(d.x)) return PyLong_FromSsize_t(VALUE(d.x));
    if (d.x == FLOATING) return PyFloat_FromDouble(d.f);
    return Py_NewRef(OBJECT(d.x));
}

FAST int sdyn_is_object(sdyn d) { return !IS_SHORT(d.x) && d.x != FLOATING; }

FAST void sdyn_drop(sdyn d) {
    if (UNLIKELY(sdyn_is_object(d)) && d.x != INT_ERROR) Py_DECREF(OBJECT(d.x));
}

FAST sdyn sdyn_keep(sdyn d) {
    if (UNLIKELY(sdyn_is_object(d)) && d.x != INT_ERROR) Py_INCREF(OBJECT(d.x));
    return d;
}

FAST int sdyn_is_int(sdyn d) {
    return IS_SHORT(d.x) || (d.x != FLOATING && Py_IS_TYPE(OBJECT(d.x), &PyLong_Type));
}

FAST PyTypeObject *sdyn_type(sdyn d) {
    return IS_SHORT(d.x) ? &PyLong_Type : d.x == FLOATING ? &PyFloat_Type : Py_TYPE(OBJECT(d.x));
}

/* An int of a dynamic value that is one: a new reference. */
FAST sint sdyn_sint(sdyn d) { return IS_SHORT(d.x) ? d.x : sint_of(OBJECT(d.x)); }

/* Two objects compared or combined as Python does. */
COLD static PyObject *sdyn_boxed(sdyn a, sdyn b, binaryfunc operation) {
    PyObject *x = sdyn_box(a), *y = x ? sdyn_box(b) : NULL, *r = y ? operation(x, y) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return r;
}

COLD static int sdyn_compare_slow(sdyn a, sdyn b, int op) {
    PyObject *x = sdyn_box(a), *y = x ? sdyn_box(b) : NULL, *r = y ? PyObject_RichCompare(x, y, op) : NULL;
    int truth = r ? PyObject_IsTrue(r) : -1;
    Py_XDECREF(r);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return truth;
}

COLD static PyObject *sdyn_called(PyObject *function, sdyn a, sdyn b) {
    /* What a function of the runtime says of two values. */
    PyObject *args[3] = {NULL, sdyn_box(a), NULL}, *r = NULL;
    if (args[1] && (args[2] = sdyn_box(b))) {
        r = PyObject_Vectorcall(function, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    Py_XDECREF(args[1]);
    Py_XDECREF(args[2]);
    return r;
}

/* Python's operators. */
#define SDYN_OPERATOR(name, OVER, sign, number)                                                       \
    FAST sdyn sdyn_##name(sdyn a, sdyn b) {                                                           \
        sint r;                                                                                       \
        if (ARE_SHORT(a.x, b.x) && LIKELY(!OVER)) return DYN_INT(r);                                  \
        if (LIKELY(a.x == FLOATING && b.x == FLOATING)) return DYN_FLOAT(a.f sign b.f);                     \
        if (a.x == FLOATING && IS_SHORT(b.x)) return DYN_FLOAT(a.f sign (double)VALUE(b.x));          \
        if (b.x == FLOATING && IS_SHORT(a.x)) return DYN_FLOAT((double)VALUE(a.x) sign b.f);          \
        return sdyn_take(sdyn_boxed(a, b, number));                                                   \
    }                                                                                                 \
    /* The same where both are ints or both floats, else what a function of the runtime says. */      \
    FAST sdyn sdyn_or_##name(sdyn a, sdyn b, PyObject *function) {                                    \
        sint r;                                                                                       \
        if (ARE_SHORT(a.x, b.x) && LIKELY(!OVER)) return DYN_INT(r);                                  \
        if (LIKELY(a.x == FLOATING && b.x == FLOATING)) return DYN_FLOAT(a.f sign b.f);                     \
        if (a.x == FLOATING && IS_SHORT(b.x)) return DYN_FLOAT(a.f sign (double)VALUE(b.x));          \
        if (b.x == FLOATING && IS_SHORT(a.x)) return DYN_FLOAT((double)VALUE(a.x) sign b.f);          \
        return sdyn_take(sdyn_called(function, a, b));                                                \
    }
SDYN_OPERATOR(add, ADD_OVER(a.x, b.x, &r), +, PyNumber_Add)
SDYN_OPERATOR(sub, SUB_OVER(a.x, b.x, &r), -, PyNumber_Subtract)
SDYN_OPERATOR(mul, MUL_OVER(a.x, VALUE(b.x), &r), *, PyNumber_Multiply)

MAYBE sdyn sdyn_div(sdyn a, sdyn b) {
    if (a.x == FLOATING && b.x == FLOATING && LIKELY(b.f != 0.0)) return DYN_FLOAT(a.f / b.f);
    return sdyn_take(sdyn_boxed(a, b, PyNumber_TrueDivide));
}

FAST sdyn sdyn_floordiv(sdyn a, sdyn b) {
    if (LIKELY(ARE_SHORT(a.x, b.x))) return DYN_INT(sint_floordiv(a.x, b.x));
    return sdyn_take(sdyn_boxed(a, b, PyNumber_FloorDivide));
}

FAST sdyn sdyn_mod(sdyn a, sdyn b) {
    if (LIKELY(ARE_SHORT(a.x, b.x))) return DYN_INT(sint_mod(a.x, b.x));
    return sdyn_take(sdyn_boxed(a, b, PyNumber_Remainder));
}

FAST sdyn sdyn_or_mod(sdyn a, sdyn b, PyObject *function) {
    if (LIKELY(ARE_SHORT(a.x, b.x)) && LIKELY(b.x != 0)) return DYN_INT(sint_mod(a.x, b.x));
    return sdyn_take(sdyn_called(function, a, b));
}

FAST sdyn sdyn_neg(sdyn a) {
    if (LIKELY(IS_SHORT(a.x))) return DYN_INT(sint_neg(a.x));
    if (a.x == FLOATING) return DYN_FLOAT(-a.f);
    PyObject *x = sdyn_box(a), *r = x ? PyNumber_Negative(x) : NULL;
    Py_XDECREF(x);
    return sdyn_take(r);
}

/* Python's comparisons: the truth, or -1 with an error. `or`: by a function of the runtime, of which the Python truth is
taken, where they are not both ints or both floats. */
#define EXACT ((sint)1 << 53) /* up to here ints are exact as floats */
#define IS_EXACT(a) (IS_SHORT(a) && VALUE(a) < EXACT && VALUE(a) > -EXACT)

COLD static int sdyn_truth_of_call(PyObject *function, sdyn a, sdyn b) {
    PyObject *r = sdyn_called(function, a, b);
    int truth = r ? PyObject_IsTrue(r) : -1;
    Py_XDECREF(r);
    return truth;
}

#define SDYN_COMPARE(name, INTS, FLOATS, slow)                                                        \
    FAST int sdyn_##name(sdyn a, sdyn b) {                                                            \
        if (LIKELY(ARE_SHORT(a.x, b.x))) return INTS(a.x, b.x);                                       \
        if (a.x == FLOATING && b.x == FLOATING) return FLOATS(a.f, b.f);                              \
        if (a.x == FLOATING && IS_EXACT(b.x)) return FLOATS(a.f, (double)VALUE(b.x));                 \
        if (b.x == FLOATING && IS_EXACT(a.x)) return FLOATS((double)VALUE(a.x), b.f);                 \
        return slow;                                                                                  \
    }                                                                                                 \
    FAST int sdyn_or_##name(sdyn a, sdyn b, PyObject *function) {                                     \
        if (LIKELY(ARE_SHORT(a.x, b.x))) return INTS(a.x, b.x);                                       \
        if (a.x == FLOATING && b.x == FLOATING) return FLOATS(a.f, b.f);                              \
        if (a.x == FLOATING && IS_EXACT(b.x)) return FLOATS(a.f, (double)VALUE(b.x));                 \
        if (b.x == FLOATING && IS_EXACT(a.x)) return FLOATS((double)VALUE(a.x), b.f);                 \
        return sdyn_truth_of_call(function, a, b);                                                    \
    }
#define OP_LT(a, b) ((a) < (b))
#define OP_GT(a, b) ((a) > (b))
#define OP_LE(a, b) ((a) <= (b))
#define OP_GE(a, b) ((a) >= (b))
#define OP_EQ(a, b) ((a) == (b))
#define OP_NE(a, b) ((a) != (b))
#define OP_NOT_LT(a, b) (!((a) < (b)))
#define OP_NOT_GT(a, b) (!((a) > (b)))
MAYBE int sdyn_not(int truth) { return truth < 0 ? truth : !truth; }
SDYN_COMPARE(lt, OP_LT, OP_LT, sdyn_compare_slow(a, b, Py_LT))
SDYN_COMPARE(gt, OP_GT, OP_GT, sdyn_compare_slow(a, b, Py_GT))
SDYN_COMPARE(le, OP_LE, OP_LE, sdyn_compare_slow(a, b, Py_LE))
SDYN_COMPARE(ge, OP_GE, OP_GE, sdyn_compare_slow(a, b, Py_GE))
SDYN_COMPARE(eq, OP_EQ, OP_EQ, sdyn_compare_slow(a, b, Py_EQ))
SDYN_COMPARE(ne, OP_NE, OP_NE, sdyn_compare_slow(a, b, Py_NE))
SDYN_COMPARE(not_lt, OP_NOT_LT, OP_NOT_LT, sdyn_not(sdyn_compare_slow(a, b, Py_LT)))
SDYN_COMPARE(not_gt, OP_NOT_GT, OP_NOT_GT, sdyn_not(sdyn_compare_slow(a, b, Py_GT)))
