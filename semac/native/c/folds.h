/* Functions that call a function for each item. */

/* The items of a list or vector as a list or tuple of Python; NULL for others and for what can't be called. */
static PyObject *sema_items_for(PyObject *function, PyObject *xs) {
    if (!PyCallable_Check(function)) return NULL;
    PyObject *items = IS_LIST(xs) ? sema_flat(xs) : PyTuple_CheckExact(xs) ? Py_NewRef(xs) : NULL;
    if (items != NULL && !PyList_CheckExact(items) && !PyTuple_CheckExact(items)) Py_CLEAR(items);
    return items;
}

FAST int sema_rest(Py_ssize_t i) { return UNLIKELY((i & POLL_MASK) == POLL_MASK) ? sema_breathe(NULL) : 0; }

/* (map f xs), (filter f xs) */
MAYBE PyObject *sema_mapped(PyObject *function, PyObject *xs, int is_filter, PyObject *f) {
    PyObject *items = sema_items_for(function, xs), *made;
    if (items == NULL) return PyErr_Occurred() ? NULL : sema_call2(f, function, xs);
    made = PyList_New(0);
    for (Py_ssize_t i = 0; made != NULL && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *item = Py_NewRef(PySequence_Fast_ITEMS(items)[i]), *r = sema_call1(function, item);
        int failed = r == NULL || sema_rest(i) < 0;
        if (!failed && !is_filter) failed = PyList_Append(made, r) < 0;
        else if (!failed && r != Py_None && r != Py_False) failed = PyList_Append(made, item) < 0;
        Py_XDECREF(r);
        Py_DECREF(item);
        if (failed) Py_CLEAR(made);
    }
    Py_DECREF(items);
    return sema_list_take(made);
}

/* (for-each f xs) */
MAYBE PyObject *sema_for_each(PyObject *function, PyObject *xs, PyObject *f) {
    PyObject *items = sema_items_for(function, xs), *r = Py_None;
    if (items == NULL) return PyErr_Occurred() ? NULL : sema_call2(f, function, xs);
    for (Py_ssize_t i = 0; r != NULL && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *item = Py_NewRef(PySequence_Fast_ITEMS(items)[i]);
        r = sema_call1(function, item);
        Py_XDECREF(r);
        Py_DECREF(item);
        if (sema_rest(i) < 0) r = NULL;
    }
    Py_DECREF(items);
    return r == NULL ? NULL : Py_NewRef(Py_None);
}

/* (foldl f initial xs) */
MAYBE PyObject *sema_folded(PyObject *function, PyObject *initial, PyObject *xs, PyObject *f) {
    PyObject *items = sema_items_for(function, xs), *r;
    if (items == NULL) return PyErr_Occurred() ? NULL : sema_call3(f, function, initial, xs);
    r = Py_NewRef(initial);
    for (Py_ssize_t i = 0; r != NULL && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *item = Py_NewRef(PySequence_Fast_ITEMS(items)[i]), *next = sema_call2(function, r, item);
        Py_DECREF(item);
        Py_SETREF(r, next);
        if (sema_rest(i) < 0) Py_CLEAR(r);
    }
    Py_DECREF(items);
    return r;
}

/* (+ a b c ...) of ints and floats */
MAYBE sdyn sema_sum(PyObject **args, Py_ssize_t count, PyObject *f) {
    sdyn sum = DYN_INT(0);
    for (Py_ssize_t i = 0; i < count; i++) {
        sdyn part = sdyn_of(args[i]);
        sint r;
        if (i == 0) sum = part;
        else if (ARE_SHORT(sum.x, part.x) && !ADD_OVER(sum.x, part.x, &r)) sum = DYN_INT(r);
        else if (sum.x == FLOATING && part.x == FLOATING) sum.f += part.f;
        else if (sum.x == FLOATING && IS_SHORT(part.x)) sum.f += (double)VALUE(part.x);
        else if (IS_SHORT(sum.x) && part.x == FLOATING) sum = DYN_FLOAT((double)VALUE(sum.x) + part.f);
        else goto other;
        if (!IS_SHORT(sum.x) && sum.x != FLOATING) goto other;
    }
    return sum;
other:
    return sdyn_take(PyObject_Vectorcall(f, args, (size_t)count, NULL));
}

/* `sum(xs)` */
MAYBE sdyn sema_sum_of(PyObject *xs, PyObject *f) {
    PyObject *items = IS_LIST(xs) ? sema_flat(xs) : Py_NewRef(xs), *r;
    sint sum = 0;
    Py_ssize_t i = 0;
    if (items == NULL) return DYN_INT(INT_ERROR);
    if (PyList_CheckExact(items) || PyTuple_CheckExact(items)) {
        for (; i < PySequence_Fast_GET_SIZE(items); i++) {
            PyObject *item = PySequence_Fast_ITEMS(items)[i];
            if (!PyLong_CheckExact(item) || !IS_COMPACT(item) || ADD_OVER(sum, SHORT(COMPACT(item)), &sum)) break;
        }
        if (i == PySequence_Fast_GET_SIZE(items)) {
            Py_DECREF(items);
            return DYN_INT(sum);
        }
    }
    r = sema_call1(f, items);
    Py_DECREF(items);
    return sdyn_take(r);
}

/* `tuple(xs)` */
MAYBE PyObject *sema_as_tuple(PyObject *xs, PyObject *f) {
    if (PyTuple_CheckExact(xs)) return Py_NewRef(xs);
    if (PyList_CheckExact(xs)) return PyList_AsTuple(xs);
    if (!IS_LIST(xs)) return sema_call1(f, xs);
    PyObject *items = sema_flat(xs), *r = items ? PySequence_Tuple(items) : NULL;
    Py_XDECREF(items);
    return r;
}

/* What handlers ask of caught errors. */

/* The thrown value of a ThrownMap, borrowed: a dict until somebody asks for a map. */
FAST PyObject *sema_thrown(PyObject *error) {
    PyObject *args = IS_A(error, T_ThrownMap) ? ((PyBaseExceptionObject *)error)->args : NULL;
    return args != NULL && PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : NULL;
}

/* `condition_field(error, key)` */
MAYBE PyObject *sema_condition_field(PyObject *error, PyObject *key, PyObject *f) {
    PyObject *thrown = sema_thrown(error);
    if (thrown == NULL || (key != O_TYPE && key != O_VALUE)) return sema_call2(f, error, key);
    if (key == O_TYPE) return Py_NewRef(O_USER);
    if (!PyDict_CheckExact(thrown)) return Py_NewRef(thrown);
    PyObject *m = sema_map_take(T_Map, Py_NewRef(thrown)), *args = m ? PyTuple_Pack(1, m) : NULL;
    if (args == NULL) Py_CLEAR(m);
    else Py_SETREF(((PyBaseExceptionObject *)error)->args, args);
    return m;
}

/* `thrown_field(error, key)` */
MAYBE PyObject *sema_thrown_field(PyObject *error, PyObject *key, PyObject *f) {
    PyObject *thrown = sema_thrown(error);
    if (thrown == NULL || !PyDict_CheckExact(thrown)) return sema_call2(f, error, key);
    return sema_found(thrown, key, Py_None);
}
