/* Lists: linking, flattening and walking them as values/lists.py does. Objects that the fast ways don't know go to the
function of the runtime, which is `f` everywhere. */

#define FIRST_CELLS 8
#define MANY_CELLS 10000

/* A List of any sequence, whose reference is given away. */
MAYBE PyObject *sema_list_made(PyObject *items) {
    if (items == NULL || PyList_CheckExact(items) || PyTuple_CheckExact(items)) return sema_list_take(items);
    PyObject *xs = sema_call1(T_List, items);
    Py_DECREF(items);
    return xs;
}

FAST PyObject *sema_new_cell(PyObject *head, PyObject *next) {
    /* head is borrowed, next given away. */
    PyObject *cell = sema_new(T_List);
    if (UNLIKELY(cell == NULL)) {
        Py_DECREF(next);
        return NULL;
    }
    SLOT(cell, LIST_CAR) = Py_NewRef(head);
    SLOT(cell, LIST_NEXT) = next;
    SLOT(cell, LIST_EMPTY) = Py_NewRef(Py_False);
    SLOT(cell, LIST_FLAT) = Py_NewRef(Py_None);
    if (next != Py_None && (next == O_EMPTY || !PyObject_GC_IsTracked(next)) && sema_is_leaf(head)) {
        PyObject_GC_UnTrack(cell);
    }
    return cell;
}

/* A cell that knows where the sequence goes on. */
static PyObject *sema_last_cell(PyObject *sequence, PyObject **items, Py_ssize_t at, Py_ssize_t count) {
    PyObject *note = Py_BuildValue("(Onn)", sequence, at + 1, 2 * count);
    PyObject *cell = note ? sema_new_cell(items[at], Py_NewRef(Py_None)) : NULL;
    if (cell == NULL) Py_XDECREF(note);
    else SLOT(cell, LIST_NOTE) = note;
    return cell;
}

/* The rest of a list whose `next` is None: `link`. */
MAYBE PyObject *sema_link(PyObject *cell) {
    PyObject *sequence = SLOT(cell, LIST_FLAT), *note = NULL, *rest;
    Py_ssize_t index = 1, count = FIRST_CELLS;
    if (sequence == Py_None && (note = SLOT(cell, LIST_NOTE)) != NULL && PyTuple_CheckExact(note)) {
        sequence = PyTuple_GET_ITEM(note, 0);
        index = PyLong_AsSsize_t(PyTuple_GET_ITEM(note, 1));
        count = PyLong_AsSsize_t(PyTuple_GET_ITEM(note, 2));
    }
    if (sequence == NULL || count > MANY_CELLS || !(PyList_CheckExact(sequence) || PyTuple_CheckExact(sequence))) {
        return PyObject_GetAttrString(cell, "cdr");
    }
    PyObject **items = PySequence_Fast_ITEMS(sequence);
    Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence), end = index + count < size ? index + count : size;
    if (size <= index) {
        Py_XSETREF(SLOT(cell, LIST_NEXT), Py_NewRef(O_EMPTY));
        return Py_NewRef(O_EMPTY);
    }
    rest = end < size ? sema_last_cell(sequence, items, --end, count) : Py_NewRef(O_EMPTY);
    for (Py_ssize_t at = end - 1; rest != NULL && at >= index; at--) rest = sema_new_cell(items[at], rest);
    if (rest == NULL) return NULL;
    Py_XSETREF(SLOT(cell, LIST_NEXT), Py_NewRef(rest));
    if (note != NULL) Py_XSETREF(SLOT(cell, LIST_NOTE), Py_NewRef(Py_None));
    return rest;
}

static int sema_add_all(PyObject *list, PyObject *items) {
    Py_ssize_t size = PyList_GET_SIZE(list);
    return PyList_SetSlice(list, size, size, items);
}

static int sema_add_from(PyObject *list, PyObject *items, Py_ssize_t start) {
    if (!PyList_CheckExact(items) && !PyTuple_CheckExact(items)) {
        PyObject *part = PySequence_GetSlice(items, start, PY_SSIZE_T_MAX);
        int done = part == NULL ? -1 : sema_add_all(list, part);
        Py_XDECREF(part);
        return done;
    }
    for (; start < PySequence_Fast_GET_SIZE(items); start++) {
        if (PyList_Append(list, PySequence_Fast_ITEMS(items)[start]) < 0) return -1;
    }
    return 0;
}

/* The items of a list whose `flat` is None: `flatten`. */
static PyObject *sema_flatten(PyObject *cell) {
    PyObject *items = PyList_New(0), *current = cell, *note;
    if (items == NULL) return NULL;
    for (;;) {
        PyObject *flat = SLOT(current, LIST_FLAT), *rest = SLOT(current, LIST_NEXT);
        if (flat == NULL || rest == NULL) goto failed;
        if (flat != Py_None) {
            if (sema_add_all(items, flat) < 0) goto failed;
            break;
        }
        if (rest == Py_None) {
            note = SLOT(current, LIST_NOTE);
            if (note == NULL || !PyTuple_CheckExact(note)) goto failed;
            PyObject *sequence = PyTuple_GET_ITEM(note, 0);
            Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GET_ITEM(note, 1));
            if (sema_add_from(items, sequence, index - 1) < 0) goto failed;
            break;
        }
        if (PyList_Append(items, SLOT(current, LIST_CAR)) < 0) goto failed;
        current = rest;
    }
    if (SLOT(current, LIST_NEXT) != Py_None && current != O_EMPTY && SLOT(current, LIST_NOTE) == C_cached) {
        Py_XSETREF(SLOT(current, LIST_NOTE), Py_NewRef(Py_None));
        Py_XSETREF(SLOT(current, LIST_FLAT), Py_NewRef(Py_None));
    }
    Py_XSETREF(SLOT(cell, LIST_FLAT), Py_NewRef(items));
    if (SLOT(cell, LIST_NEXT) != Py_None) Py_XSETREF(SLOT(cell, LIST_NOTE), Py_NewRef(C_cached));
    return items;
failed:
    Py_DECREF(items);
    return PyErr_Occurred() ? NULL : PyObject_GetAttrString(cell, "items");
}

/* `xs.flat or xs.items` of a List. */
FAST PyObject *sema_flat(PyObject *xs) {
    PyObject *flat = SLOT(xs, LIST_FLAT);
    if (LIKELY(flat != NULL && flat != Py_None)) return Py_NewRef(flat);
    return sema_flatten(xs);
}

FAST PyObject *sema_car(PyObject *xs, PyObject *f) {
    if (LIKELY(IS_LIST(xs))) return Py_NewRef(SLOT(xs, LIST_CAR));
    if (PyTuple_CheckExact(xs)) return Py_NewRef(PyTuple_GET_SIZE(xs) ? PyTuple_GET_ITEM(xs, 0) : Py_None);
    return sema_call1(f, xs);
}

FAST PyObject *sema_cdr(PyObject *xs, PyObject *f) {
    if (LIKELY(IS_LIST(xs))) {
        PyObject *next = SLOT(xs, LIST_NEXT);
        return LIKELY(next != Py_None) ? Py_NewRef(next) : sema_link(xs);
    }
    return sema_call1(f, xs);
}

FAST PyObject *sema_cons(PyObject *head, PyObject *tail, PyObject *f) {
    if (UNLIKELY(!IS_LIST(tail))) return sema_call2(f, head, tail);
    return sema_new_cell(head, Py_NewRef(tail));
}

FAST int sema_is_pair(PyObject *xs, PyObject *f) {
    return LIKELY(IS_LIST(xs)) ? SLOT(xs, LIST_EMPTY) != Py_True : truth_answer(sema_call1(f, xs));
}

FAST PyObject *sema_is_null(PyObject *xs, PyObject *f) {
    if (LIKELY(IS_LIST(xs))) return Py_NewRef(SLOT(xs, LIST_EMPTY));
    return sema_call1(f, xs);
}

/* (cadr xs), (caddr xs) */
MAYBE PyObject *sema_item_or_nil(PyObject *xs, Py_ssize_t index, PyObject *f) {
    if (IS_LIST(xs)) {
        PyObject *flat = SLOT(xs, LIST_FLAT);
        if (flat != NULL && (PyTuple_CheckExact(flat) || PyList_CheckExact(flat))) {
            return Py_NewRef(index < PySequence_Fast_GET_SIZE(flat) ? PySequence_Fast_ITEMS(flat)[index] : Py_None);
        }
        for (; index > 0 && SLOT(xs, LIST_NEXT) != Py_None; index--) xs = SLOT(xs, LIST_NEXT);
        if (index == 0) return Py_NewRef(SLOT(xs, LIST_CAR));
        flat = SLOT(xs, LIST_FLAT);
        if (PyTuple_CheckExact(flat) || PyList_CheckExact(flat)) return sema_item_or_nil(xs, index, f);
        PyObject *rest = sema_link(xs), *r = rest ? sema_item_or_nil(rest, index - 1, f) : NULL;
        Py_XDECREF(rest);
        return r;
    }
    return sema_call1(f, xs);
}

MAYBE PyObject *sema_cddr(PyObject *xs, PyObject *f) {
    if (!IS_LIST(xs)) return sema_call1(f, xs);
    PyObject *rest = SLOT(xs, LIST_NEXT), *r;
    rest = rest != Py_None ? Py_NewRef(rest) : sema_link(xs);
    if (rest == NULL) return NULL;
    r = SLOT(rest, LIST_NEXT) != Py_None ? Py_NewRef(SLOT(rest, LIST_NEXT)) : sema_link(rest);
    Py_DECREF(rest);
    return r;
}

/* (nth xs i) and what is like it. */
MAYBE PyObject *sema_nth(PyObject *xs, sdyn index, PyObject *f) {
    if (LIKELY(IS_SHORT(index.x) && index.x >= 0)) {
        Py_ssize_t at = VALUE(index.x);
        PyObject *items = xs, *flattened = NULL, *found = NULL;
        if (IS_LIST(xs)) {
            items = SLOT(xs, LIST_FLAT);
            if (items == Py_None && (items = flattened = sema_flatten(xs)) == NULL) return NULL;
        } else if (IS_A(xs, T_Array)) items = SLOT(xs, 0);
        if (PyTuple_CheckExact(items) && at < PyTuple_GET_SIZE(items)) found = PyTuple_GET_ITEM(items, at);
        else if (items != xs && PyList_CheckExact(items) && at < PyList_GET_SIZE(items)) {
            found = PyList_GET_ITEM(items, at);
        }
        Py_XINCREF(found);
        Py_XDECREF(flattened);
        if (LIKELY(found != NULL)) return found;
    }
    PyObject *i = sdyn_box(index), *r = i ? sema_call2(f, xs, i) : NULL;
    Py_XDECREF(i);
    return r;
}

MAYBE sint sema_length(PyObject *xs, PyObject *f) {
    if (LIKELY(IS_LIST(xs))) {
        PyObject *items = sema_flat(xs);
        Py_ssize_t size = items ? sema_len(items) : -1;
        Py_XDECREF(items);
        return size < 0 ? INT_ERROR : SHORT(size);
    }
    if (PyTuple_CheckExact(xs)) return SHORT(PyTuple_GET_SIZE(xs));
    if (PyUnicode_CheckExact(xs)) return SHORT(PyUnicode_GET_LENGTH(xs));
    if (IS_MAP(xs) && SLOT(xs, MAP_D) && PyDict_CheckExact(SLOT(xs, MAP_D))) return SHORT(PyDict_GET_SIZE(SLOT(xs, MAP_D)));
    return sint_answer(sema_call1(f, xs));
}

MAYBE PyObject *sema_last(PyObject *xs, PyObject *f) {
    if (IS_LIST(xs)) {
        PyObject *items = sema_flat(xs), *r;
        if (items == NULL) return NULL;
        r = sema_len(items) ? sema_item_at(items, -1) : Py_NewRef(Py_None);
        Py_DECREF(items);
        return r;
    }
    return sema_call1(f, xs);
}

MAYBE PyObject *sema_reverse(PyObject *xs, PyObject *f) {
    if (IS_LIST(xs)) {
        PyObject *items = sema_flat(xs), *turned = items ? sema_backwards(items) : NULL;
        Py_XDECREF(items);
        return sema_list_made(turned);
    }
    return sema_call1(f, xs);
}

/* (append a b) */
MAYBE PyObject *sema_append_lists(PyObject *a, PyObject *b, PyObject *f) {
    if (!IS_LIST(a) || !IS_LIST(b)) return sema_call2(f, a, b);
    PyObject *x = sema_flat(a), *y = x ? sema_flat(b) : NULL, *made = y ? PySequence_List(x) : NULL;
    if (made != NULL && sema_add_all(made, y) < 0) Py_CLEAR(made);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return sema_list_take(made);
}

/* (range n) and (range a b) */
MAYBE PyObject *sema_range_list(sdyn start, sdyn end, int count, PyObject *f) {
    PyObject *a = sdyn_box(start), *b = a ? sdyn_box(end) : NULL, *r = NULL;
    if (b != NULL && IS_SHORT(start.x) && IS_SHORT(end.x)) {
        PyObject *items = PyObject_CallFunctionObjArgs((PyObject *)&PyRange_Type, a, count > 1 ? b : NULL, NULL);
        sint first = count > 1 ? start.x : 0, last = count > 1 ? end.x : start.x;
        PyObject *car = items == NULL ? NULL : first < last ? sint_box(first) : Py_NewRef(Py_None);
        if (car != NULL && (r = sema_new(T_List)) != NULL) {
            SLOT(r, LIST_CAR) = Py_NewRef(car);
            SLOT(r, LIST_EMPTY) = Py_NewRef(TRUTH(first >= last));
            SLOT(r, LIST_FLAT) = Py_NewRef(items);
            SLOT(r, LIST_NEXT) = Py_NewRef(Py_None);
        }
        Py_XDECREF(car);
        Py_XDECREF(items);
    } else if (b != NULL) r = count > 1 ? sema_call2(f, a, b) : sema_call1(f, a);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

/* What patterns ask of lists and vectors. */
MAYBE PyObject *sema_sequence_items(PyObject *xs, PyObject *f) {
    if (PyTuple_CheckExact(xs)) return Py_NewRef(xs);
    if (IS_LIST(xs)) return sema_flat(xs);
    if (IS_MAP(xs) || PyUnicode_CheckExact(xs) || PyLong_CheckExact(xs) || xs == Py_None) return Py_NewRef(Py_None);
    return sema_call1(f, xs);
}

/* `destructure(xs, count)`; with is_least at least count items. */
MAYBE PyObject *sema_destructure(PyObject *xs, PyObject *count, int is_least, PyObject *f) {
    PyObject *items = IS_LIST(xs) ? sema_flat(xs) : PyTuple_CheckExact(xs) ? Py_NewRef(xs) : NULL;
    if (items != NULL) {
        Py_ssize_t wanted = PyLong_AsSsize_t(count), size = sema_len(items);
        if (size == wanted || (is_least && size > wanted)) return items;
        Py_DECREF(items);
    } else if (PyErr_Occurred()) return NULL;
    return sema_call2(f, xs, count);
}

MAYBE PyObject *sema_iterate(PyObject *xs, PyObject *who, PyObject *f) {
    if (IS_LIST(xs)) return sema_flat(xs);
    if (PyTuple_CheckExact(xs) || PyList_CheckExact(xs)) return Py_NewRef(xs);
    return sema_call2(f, xs, who);
}

/* Loops. how: 0 a list of Python, 1 a tuple, 2 an iterator, 3 cells. */
typedef struct {
    PyObject *over;
    Py_ssize_t at;
    int how;
} sema_iter;

FAST int sema_iter_start(sema_iter *it, PyObject *items) {
    it->at = 0;
    if (IS_LIST(items)) items = sema_flat(items);
    else Py_INCREF(items);
    it->over = items;
    if (UNLIKELY(items == NULL)) return -1;
    it->how = PyList_CheckExact(items) ? 0 : PyTuple_CheckExact(items) ? 1 : 2;
    if (it->how == 2) {
        it->over = PyObject_GetIter(items);
        Py_DECREF(items);
    }
    return it->over == NULL ? -1 : 0;
}

/* A loop over `walk(xs)`. */
FAST int sema_iter_walk(sema_iter *it, PyObject *xs, PyObject *f) {
    if (LIKELY(IS_LIST(xs) && SLOT(xs, LIST_FLAT) == Py_None)) {
        it->over = Py_NewRef(xs);
        it->how = 3;
        return 0;
    }
    if (IS_LIST(xs)) return sema_iter_start(it, xs);
    PyObject *items = sema_call1(f, xs);
    it->over = NULL;
    if (items == NULL) return -1;
    int done = sema_iter_start(it, items);
    Py_DECREF(items);
    return done;
}

MAYBE PyObject *sema_next_cell(sema_iter *it) {
    PyObject *cell = it->over, *value, *next;
    if (!IS_LIST(cell) || SLOT(cell, LIST_EMPTY) == Py_True) return NULL;
    value = Py_NewRef(SLOT(cell, LIST_CAR));
    next = SLOT(cell, LIST_NEXT);
    next = next == Py_None ? sema_link(cell) : Py_NewRef(next);
    if (next == NULL) Py_CLEAR(value);
    else {
        it->over = next;
        Py_DECREF(cell);
    }
    return value;
}

/* The next item, a new reference; NULL at the end, and with an error. */
FAST PyObject *sema_iter_next(sema_iter *it) {
    if (LIKELY(it->how == 0)) {
        if (it->at < PyList_GET_SIZE(it->over)) return Py_NewRef(PyList_GET_ITEM(it->over, it->at++));
        return NULL;
    }
    if (it->how == 1) {
        if (it->at < PyTuple_GET_SIZE(it->over)) return Py_NewRef(PyTuple_GET_ITEM(it->over, it->at++));
        return NULL;
    }
    if (it->how == 3) return sema_next_cell(it);
    return Py_TYPE(it->over)->tp_iternext(it->over);
}

/* Whether a loop without more items ends with an error. */
FAST int sema_iter_failed(sema_iter *it) {
    if (it->how < 2 || !PyErr_Occurred()) return 0;
    if (it->how == 3 || !PyErr_ExceptionMatches(PyExc_StopIteration)) return 1;
    PyErr_Clear();
    return 0;
}
