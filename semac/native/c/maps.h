/* Maps, multimethods and equality as the runtime has them, for keys that are dict keys as they are. */

#define SMALL_MAP 100

FAST int sema_is_atom(PyObject *o) {
    return IS_A(o, T_Keyword) || o == Py_None || IS_A(o, T_Symbol) || IS_A(o, T_Char) || PyBool_Check(o);
}

FAST int sema_is_atomic(PyObject *key) {
    return PyUnicode_CheckExact(key) || IS_A(key, T_Keyword) || PyLong_CheckExact(key) || key == Py_None
           || IS_A(key, T_Symbol) || IS_A(key, T_Char) || PyBytes_CheckExact(key);
}

/* Whether a key is stored as it is. */
MAYBE int sema_is_stored(PyObject *key) {
    if (LIKELY(sema_is_atomic(key))) return 1;
    if (!PyTuple_CheckExact(key)) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        if (!sema_is_atomic(PyTuple_GET_ITEM(key, i))) return 0;
    }
    return 1;
}

/* The dict of a map, borrowed; NULL where it still has to be filled. */
FAST PyObject *sema_dict_of(PyObject *m) {
    PyObject *d = SLOT(m, MAP_D);
    return LIKELY(d != NULL && PyDict_CheckExact(d)) ? d : NULL;
}

FAST PyObject *sema_found(PyObject *d, PyObject *key, PyObject *otherwise) {
    PyObject *value = PyDict_GetItemWithError(d, key);
    if (value != NULL) return Py_NewRef(value);
    return PyErr_Occurred() ? NULL : Py_NewRef(otherwise);
}

FAST PyObject *sema_keyword_get(PyObject *m, PyObject *key, PyObject *f) {
    PyObject *d = LIKELY(IS_MAP(m)) ? sema_dict_of(m) : NULL;
    return LIKELY(d != NULL) ? sema_found(d, key, Py_None) : sema_call2(f, m, key);
}

MAYBE PyObject *sema_get(PyObject *m, PyObject *key, PyObject *otherwise, int count, PyObject *f) {
    PyObject *d = LIKELY(IS_MAP(m)) ? sema_dict_of(m) : NULL;
    if (LIKELY(d != NULL && sema_is_stored(key))) return sema_found(d, key, otherwise);
    return count > 2 ? sema_call3(f, m, key, otherwise) : sema_call2(f, m, key);
}

/* (contains? m key) */
MAYBE int sema_has(PyObject *m, PyObject *key, PyObject *f) {
    PyObject *d = IS_MAP(m) ? sema_dict_of(m) : NULL;
    if (d != NULL && sema_is_stored(key)) return PyDict_Contains(d, key);
    return truth_answer(sema_call2(f, m, key));
}

/* A map like old without anything in it yet. */
FAST PyObject *sema_map_like(PyObject *old) {
    PyObject *m = sema_new((PyObject *)Py_TYPE(old));
    if (LIKELY(m != NULL)) {
        SLOT(m, MAP_ORDER) = Py_NewRef(Py_None);
        SLOT(m, MAP_FACE) = Py_NewRef(Py_None);
    }
    return m;
}

/* Gives the dict d of a large map to a new one; the old one gets a dict that knows the new one. d: borrowed. */
static int sema_give_over(PyObject *old, PyObject *d, Py_ssize_t age, PyObject *m, PyObject *key) {
    PyObject *moved = PyObject_CallNoArgs(T_Moved), *before = PyDict_GetItemWithError(d, key), *source = NULL;
    if (before == NULL && !PyErr_Occurred()) before = SH->missing;
    if (moved != NULL && before != NULL) source = PyTuple_Pack(3, m, key, before);
    PyObject *next = source ? PyLong_FromSsize_t(age + 1) : NULL;
    int failed = next == NULL || PyObject_SetAttr(moved, C_source, source) < 0;
    if (!failed) {
        SLOT(m, MAP_AGE) = next;
        SLOT(m, MAP_D) = Py_NewRef(d);
        Py_XSETREF(SLOT(old, MAP_D), Py_NewRef(moved));
    } else Py_XDECREF(next);
    Py_XDECREF(source);
    Py_XDECREF(moved);
    return failed ? -1 : 0;
}

/* `changed(old, key, value)`, as values/maps.py explains it. */
static PyObject *sema_changed(PyObject *old, PyObject *key, PyObject *value) {
    PyObject *taken = PyObject_CallNoArgs(O_take), *m = taken ? sema_map_like(old) : NULL, *d = NULL;
    int done = -1;
    if (taken == NULL) return NULL;
    if (m != NULL) {
        Py_ssize_t age = SLOT(old, MAP_AGE) ? PyLong_AsSsize_t(SLOT(old, MAP_AGE)) : 0;
        d = Py_NewRef(SLOT(old, MAP_D));
        if (!PyDict_CheckExact(d)) {
            PyObject *copied = PyObject_CallMethod(d, "copy", NULL);
            done = copied == NULL ? -1 : 0;
            SLOT(m, MAP_D) = copied;
        } else if (PyDict_GET_SIZE(d) <= SMALL_MAP || age >= PyDict_GET_SIZE(d)) {
            SLOT(m, MAP_D) = PyDict_Copy(d);
            done = SLOT(m, MAP_D) == NULL ? -1 : 0;
        } else done = sema_give_over(old, d, age, m, key);
        if (done == 0) done = PyDict_SetItem(SLOT(m, MAP_D), key, value);
        Py_DECREF(d);
    }
    Py_DECREF(taken);
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    Py_XDECREF(PyObject_CallNoArgs(O_let_go));
    PyErr_Restore(kind, error, trace);
    if (done < 0) Py_CLEAR(m);
    return m;
}

/* A new map like another but for some entries is no more to be visited than that one, where these are leaves. */
static void sema_untrack_like(PyObject *made, PyObject *old, PyObject **args, Py_ssize_t count) {
    if (PyObject_GC_IsTracked(old)) return;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!sema_is_leaf(args[i])) return;
    }
    PyObject_GC_UnTrack(SLOT(made, MAP_D));
    PyObject_GC_UnTrack(made);
}

/* (assoc m key value) */
MAYBE PyObject *sema_assoc(PyObject *m, PyObject *key, PyObject *value, PyObject *f) {
    PyObject *d = LIKELY(IS_MAP(m)) ? sema_dict_of(m) : NULL;
    if (UNLIKELY(d == NULL || !sema_is_stored(key))) return sema_call3(f, m, key, value);
    if (PyDict_GET_SIZE(d) > SMALL_MAP) return sema_changed(m, key, value);
    PyObject *made = sema_map_like(m), *copied = made ? PyDict_Copy(d) : NULL;
    if (copied != NULL && PyDict_SetItem(copied, key, value) < 0) Py_CLEAR(copied);
    if (copied == NULL) Py_CLEAR(made);
    else {
        SLOT(made, MAP_D) = copied;
        sema_untrack_like(made, m, (PyObject *[]){key, value}, 2);
    }
    return made;
}

/* (assoc m key value key value ...) of a small map. args: keys and values. */
MAYBE PyObject *sema_assoc_all(PyObject *m, PyObject **args, Py_ssize_t count, PyObject *f) {
    PyObject *d = IS_MAP(m) ? sema_dict_of(m) : NULL, *made, *copied;
    int simple = d != NULL && PyDict_GET_SIZE(d) + count / 2 <= SMALL_MAP && count % 2 == 0;
    for (Py_ssize_t i = 0; simple && i < count; i += 2) simple = sema_is_stored(args[i]);
    if (!simple) {
        PyObject *all = PyTuple_New(count + 1), *r;
        if (all == NULL) return NULL;
        PyTuple_SET_ITEM(all, 0, Py_NewRef(m));
        for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(all, i + 1, Py_NewRef(args[i]));
        r = PyObject_Call(f, all, NULL);
        Py_DECREF(all);
        return r;
    }
    made = sema_map_like(m);
    copied = made ? PyDict_Copy(d) : NULL;
    for (Py_ssize_t i = 0; copied != NULL && i < count; i += 2) {
        if (PyDict_SetItem(copied, args[i], args[i + 1]) < 0) Py_CLEAR(copied);
    }
    if (copied == NULL) Py_CLEAR(made);
    else {
        SLOT(made, MAP_D) = copied;
        sema_untrack_like(made, m, args, count);
    }
    return made;
}

/* `stored(key)`, `assoc_key(key)` */
MAYBE PyObject *sema_stored(PyObject *key, PyObject *f) {
    return sema_is_stored(key) ? Py_NewRef(key) : sema_call1(f, key);
}

/* `map_entries(value)` */
MAYBE PyObject *sema_map_entries(PyObject *m, PyObject *f) {
    PyObject *d = IS_MAP(m) ? sema_dict_of(m) : NULL;
    if (d != NULL && PyDict_GET_SIZE(d) <= SMALL_MAP) return Py_NewRef(d);
    if (IS_LIST(m) || PyTuple_CheckExact(m) || PyUnicode_CheckExact(m) || PyLong_CheckExact(m)) return Py_NewRef(Py_None);
    return sema_call1(f, m);
}

/* `updated_map(m, key)` */
MAYBE PyObject *sema_updated(PyObject *m, PyObject *key, PyObject *f) {
    return IS_A(m, T_Map) && sema_is_atomic(key) ? Py_NewRef(m) : sema_call2(f, m, key);
}

/* Calls of what is no function of Python */

#define MULTI_DISPATCH 1
#define MULTI_METHODS 2

/* The method that a multimethod has for a dispatch value, which is given away: a new reference. */
static PyObject *sema_method_for(PyObject *multi, PyObject *value) {
    PyObject *methods = SLOT(multi, MULTI_METHODS), *key, *method;
    if (value == NULL) return NULL;
    key = sema_is_stored(value) || IS_LIST(value) ? Py_NewRef(value) : sema_call1(O_stored, value);
    method = key ? PyDict_GetItemWithError(methods, key) : NULL;
    Py_XINCREF(method);
    if (key != NULL && method == NULL && !PyErr_Occurred()) {
        method = PyObject_CallMethodOneArg(multi, C_default, value);
    }
    Py_XDECREF(key);
    Py_DECREF(value);
    return method;
}

static PyObject *sema_call_other1(PyObject *f, PyObject *a) {
    PyObject *args[2] = {NULL, a}, *d;
    if (IS_A(f, T_Keyword) && IS_MAP(a) && (d = sema_dict_of(a)) != NULL) return sema_found(d, f, Py_None);
    if (IS_A(f, T_Multi) && SLOT(f, MULTI_METHODS) && PyDict_CheckExact(SLOT(f, MULTI_METHODS))) {
        PyObject *method = sema_method_for(f, sema_call1(SLOT(f, MULTI_DISPATCH), a)), *r;
        if (method == NULL) return NULL;
        r = sema_call1(method, a);
        Py_DECREF(method);
        return r;
    }
    return PyObject_Vectorcall(f, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

static PyObject *sema_call_other2(PyObject *f, PyObject *a, PyObject *b) {
    PyObject *args[3] = {NULL, a, b};
    if (IS_A(f, T_Multi) && SLOT(f, MULTI_METHODS) && PyDict_CheckExact(SLOT(f, MULTI_METHODS))) {
        PyObject *method = sema_method_for(f, sema_call2(SLOT(f, MULTI_DISPATCH), a, b)), *r;
        if (method == NULL) return NULL;
        r = sema_call2(method, a, b);
        Py_DECREF(method);
        return r;
    }
    return PyObject_Vectorcall(f, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Equality of `=`: of two values that aren't both numbers. */
static int sema_equal_objects(PyObject *x, PyObject *y, sdyn a, sdyn b, PyObject *function) {
    if (Py_TYPE(x) != Py_TYPE(y)) {
        if (sema_is_atom(x) || sema_is_atom(y)) return 0;
    } else if (sema_is_atom(x)) return x == y;
    else if (PyUnicode_CheckExact(x)) return sema_same_text(x, y);
    return sdyn_truth_of_call(function, a, b);
}

FAST int sdyn_num_eq(sdyn a, sdyn b, PyObject *function) {
    if (LIKELY(ARE_SHORT(a.x, b.x))) return a.x == b.x;
    if (a.x == FLOATING && b.x == FLOATING) return a.f == b.f;
    if (sdyn_is_object(a) && sdyn_is_object(b)) return sema_equal_objects(OBJECT(a.x), OBJECT(b.x), a, b, function);
    if (sdyn_is_object(a) ? sema_is_atom(OBJECT(a.x)) : sdyn_is_object(b) && sema_is_atom(OBJECT(b.x))) return 0;
    return sdyn_truth_of_call(function, a, b);
}
