"""Documentation of the special forms, of the macros that act like them, and of names that stand for values.

Each text has the shapes of the form (one a line), a blank line, its description, a blank line, and examples as
`expression => value`.
"""

from __future__ import annotations

FORMS: dict[str, str] = {
    "->": """(-> value form ...)

Passes value as the first argument to the first form, its result as the first argument to the next, and so on. A form
that isn't a list is called with one argument.

(-> 5 (- 3) (* 10)) => 20
(-> {:a {:b 3}} :a :b) => 3""",
    "->>": """(->> value form ...)

Like -> but the value becomes the last argument of each form.

(->> [1 2 3 4] (filter even?) (map (fn (x) (* x x)))) => (4 16)""",
    "and": """(and expr ...)

Evaluates from left to right until one is #f or nil and returns that value, or else the last one. (and) is #t.

(and 1 nil 3) => nil
(and 1 2) => 2""",
    "as->": """(as-> value name form ...)

Binds name to value in the first form, to the result of that form in the next, and so on.

(as-> 5 x (+ x 1) (* x x)) => 36""",
    "async": """(async body ...)

Starts the body as a concurrent task and returns its promise at once; await returns the result.

(let ((p (async (+ 1 2)))) (await p)) => 3""",
    "await": """(await promise)

Waits until the task of a promise has finished and returns its value or raises its error. Other tasks run meanwhile.

(await (async (* 6 7))) => 42""",
    "begin": """(begin body ...)

Evaluates the forms in order and returns the last value. Opens no scope: a define in it belongs to the surrounding body.

(begin 1 2 3) => 3""",
    "breakpoint": """(breakpoint)

Stops the program in the debugger (pdb, or the one that PYTHONBREAKPOINT names), with the locals of the form.

; (let ((x 1)) (breakpoint) (+ x 1))""",
    "case": """(case expr ((datum ...) body ...) ... [(else body ...)])

Chooses by a value: runs the first clause that lists a datum equal (=) to the value of expr. Data are not evaluated.
Returns nil when no clause fits.

(case 3 ((1 2) :low) ((3 4) :high) (else :other)) => :high""",
    "cond": """(cond (test body ...) ... [(else body ...)])

Chooses by conditions: runs the body of the first clause whose test is neither #f nor nil. Returns #t for a clause
without a body, and nil when no test holds.

(cond ((< 5 3) :less) ((> 5 3) :more) (else :same)) => :more""",
    "def": """(def name value)

Another spelling of define.

(begin (def x 5) (+ x 1)) => 6""",
    "defagent": """(defagent name {:system text :tools [tool ...] :model text :max-turns n})

Defines an agent: instructions, tools and limits. agent/run gives it a message.

(defagent helper {:system "Be brief." :max-turns 3})
(agent/name helper) => "helper\"""",
    "define": """(define name value)
(define (name param ...) body ...)
(define pattern value)

Defines a variable or a function: globally at top level, otherwise in the surrounding body. In the second shape
`. rest` collects further arguments in a list. A vector or map pattern destructures the value.

(begin (define (add . xs) (apply + xs)) (add 1 2 3)) => 6
(begin (define [a b] [1 2]) (+ a b)) => 3""",
    "define-record-type": """(define-record-type tag (constructor field ...) predicate (field getter) ...)

Defines a record: a function that makes one, a test for it, and a function for each field.

(begin (define-record-type point (make-point x y) point? (x point-x)) (point-x (make-point 3 4))) => 3""",
    "define-syntax": """(define-syntax name (syntax-rules (literal ...) (pattern template) ...))

Defines a macro by patterns. `...` stands for any number of the form before it. Names that the template binds with
let, lambda, do or define are renamed, so they can't clash with the caller's names.

(begin (define-syntax swap (syntax-rules () ((_ a b) (list b a)))) (swap 1 2)) => (2 1)""",
    "define-values": """(define-values (name ...) producer)

Defines one name for each of the multiple values of producer.

(begin (define-values (q r) (values 3 1)) (list q r)) => (3 1)""",
    "defmacro": """(defmacro name (param ... [. rest]) body ...)

Defines a macro: the body gets the argument forms unevaluated and returns the form that replaces the call. It runs
before the program does and sees builtins, but no function or variable of the program. In a quasiquote, `name#` is a
fresh symbol.

(begin (defmacro unless2 (test . body) `(if ,test nil (begin ,@body))) (unless2 #f 1 2)) => 2""",
    "defmethod": """(defmethod multi-name dispatch-value handler)

Adds the function for one dispatch value to a multimethod; :default handles all other values.

(begin (defmulti area :kind) (defmethod area :square (fn (s) (* (:side s) 2))) (area {:kind :square :side 3})) => 6""",
    "defmulti": """(defmulti name dispatch-fn)

Defines a multimethod: a function that chooses its method by the result of dispatch-fn for the arguments.

(begin (defmulti sound :kind) (defmethod sound :cat (fn (_) "meow")) (sound {:kind :cat})) => "meow\"""",
    "defn": """(defn name (param ...) body ...)

Another spelling of (define (name param ...) body ...).

(begin (defn double (x) (* 2 x)) (double 4)) => 8""",
    "deftool": """(deftool name description {:param {:type t :description d} ...} handler)

Defines a tool that a language model may call: its parameters as a map, the handler as a function of their values.

(deftool add "Adds two numbers" {:a {:type :number} :b {:type :number}} (fn (a b) (+ a b)))
(tool/invoke add {:a 1 :b 2}) => 3""",
    "defun": """(defun name (param ...) body ...)

Another spelling of (define (name param ...) body ...).

(begin (defun double (x) (* 2 x)) (double 4)) => 8""",
    "delay": """(delay expr)

A promise to evaluate expr once, when force first needs it.

(force (delay (+ 1 2))) => 3""",
    "do": """(do ((name init [step]) ...) (test [result ...]) body ...)

A loop: binds the names to their inits. Until test holds, it runs the body and then sets all names to their steps at
once. Returns the last result, or nil.

(do ((i 0 (+ i 1)) (sum 0 (+ sum i))) ((= i 5) sum)) => 10""",
    "dotimes": """(dotimes (name count) body ...)

A loop: runs the body count times with name = 0, 1, ... Returns nil.

(let ((sum 0)) (dotimes (i 4) (set! sum (+ sum i))) sum) => 6""",
    "eval": """(eval form)

Compiles and runs a form in the global environment.

(eval '(+ 1 2)) => 3""",
    "export": """(export name ...)

Inside (module name (export ...) body ...), lists the names that an import of the file binds.

(file/write "shapes.sema" "(module shapes (export area) (define (area w h) (* w h)))")
(import "shapes.sema")
(area 2 3) => 6""",
    "fn": """(fn (param ...) body ...)

An anonymous function. Parameters may be vector or map patterns; `. rest` collects further arguments in a list.
#(* % 2) is short for (fn (x) (* x 2)).

((fn (a [b c] . more) (list a b c more)) 1 [2 3] 4 5) => (1 2 3 (4 5))""",
    "for": """(for-each fn seq)
(for-range (name start end [step]) body ...)

There is no form `for`: use for-each, map or filter over a sequence, for-range or dotimes over numbers.

(let ((sum 0)) (for-range (i 0 4) (set! sum (+ sum i))) sum) => 6""",
    "for-range": """(for-range (name start end [step]) body ...)

A loop over numbers: runs the body with name = start, start + step, ... below end. Returns nil.

(let ((out '())) (for-range (i 0 6 2) (set! out (cons i out))) out) => (4 2 0)""",
    "for/filter": """(filter predicate seq)

There is no form `for/filter`: use filter.

(filter even? [1 2 3 4]) => (2 4)""",
    "for/fold": """(foldl fn init seq)

There is no form `for/fold`: use foldl or reduce.

(foldl + 0 [1 2 3]) => 6""",
    "for/list": """(map fn seq ...)

There is no form `for/list`: use map.

(map (fn (x) (* x x)) [1 2 3]) => (1 4 9)""",
    "for/map": """(map fn seq ...)

There is no form `for/map`: use map.

(map (fn (x) (+ x 1)) [1 2 3]) => (2 3 4)""",
    "force": """(force promise)

The value of a promise made by delay; evaluates it the first time.

(force (delay 5)) => 5""",
    "guard": """(guard (name (test body ...) ... [(else body ...)]) body ...)

Runs the body; when it raises, binds name to the thrown value (or to the condition map of any other error) and tries
the clauses as cond does. When no clause fits, the error is raised again.

(guard (e ((number? e) (+ e 1))) (throw 5)) => 6""",
    "if": """(if test then [else])

Evaluates then when test is true, otherwise else. Only #f and nil are false. A missing else means nil.

(if '() :yes :no) => :yes
(if 0 :yes :no) => :yes""",
    "if-let": """(if-let (name expr) then else)

Binds name to the value of expr and evaluates then, or else when the value is nil. #f counts as a value here.

(if-let (x (get {:a 1} :a)) (+ x 1) :none) => 2""",
    "import": """(import "path" [name ...])

Imports a file: evaluates it once and binds the names it exports, or only those listed. A path is relative to the file.
A name with a `/` and without `.sema` is a package: one that comes with the language, such as `sema/patterns`, or an
installed one.

(file/write "shapes.sema" "(define (area w h) (* w h))")
(import "shapes.sema" area)
(area 2 3) => 6""",
    "lambda": """(lambda (param ...) body ...)

A function; the same as fn.

((lambda (x . more) (list x more)) 1 2 3) => (1 (2 3))""",
    "let": """(let ((name value) ...) body ...)
(let name ((param init) ...) body ...)

Binds names for the body, after evaluating all values. A vector or map in place of a name destructures its value. With
a name in front it is a loop: calling the name in the body starts the next round.

(let ((x 1) ([a b] [2 3])) (+ x a b)) => 6
(let loop ((i 0) (acc '())) (if (= i 3) acc (loop (+ i 1) (cons i acc)))) => (2 1 0)""",
    "let*": """(let* ((name value) ...) body ...)

Like let, but each value sees the names before it.

(let* ((x 1) (y (+ x 1))) (list x y)) => (1 2)""",
    "let*-values": """(let*-values (((name ...) producer) ...) body ...)

Like let-values, but each producer sees the names before it.

(let*-values (((a b) (values 1 2)) ((c) (values (+ a b)))) c) => 3""",
    "let-values": """(let-values (((name ...) producer) ...) body ...)

Binds the multiple values of each producer to names for the body.

(let-values (((q r) (values 3 1))) (list q r)) => (3 1)""",
    "letrec": """(letrec ((name value) ...) body ...)

Like let, but the values see all the names: for functions that call each other.

(letrec ((sum (fn (n) (if (= n 0) 0 (+ n (sum (- n 1))))))) (sum 4)) => 10""",
    "load": """(load "file")

Evaluates a file in the global environment, every time it is called. Returns its last value.

(file/write "settings.sema" "(define port 8080)")
(load "settings.sema")
(+ port 1) => 8081""",
    "macroexpand": """(macroexpand form)

Expands a macro call, given as data, by one step.

(macroexpand '(-> x (f 1))) => (-> (f x 1))""",
    "match": """(match expr [pattern body ...] [pattern when guard body ...] ...)

Pattern matching: runs the first clause whose pattern fits. _ fits everything, a symbol binds, a literal or 'datum must
be equal, [a b & more] fits vectors and lists, {:key pattern} fits maps that have the key. Raises an error when no
clause fits; see match*.

(match [1 2 3] ([a] :one) ([a & more] (list a more))) => (1 (2 3))
(match {:kind :ok :value 3} ({:kind :ok :value v} v) (_ 0)) => 3""",
    "match*": """(match* expr [pattern body ...] ...)

Like match, but returns nil when no clause fits.

(match* 5 (6 :six)) => nil""",
    "message": """(message role content ...)

A chat message: the role as a symbol or keyword, the content joined into a string.

(message :user "n = " 1) => <message user "n = 1">""",
    "module": """(module name (export name ...) body ...)

The body of a file that is meant to be imported: only the exported names are visible outside.

(file/write "shapes.sema" "(module shapes (export area) (define (area w h) (* w h)))")
(import "shapes.sema")
(area 2 3) => 6""",
    "or": """(or expr ...)

Evaluates from left to right until one is neither #f nor nil and returns it, else the last value. (or) is #f.

(or nil #f 3) => 3""",
    "parameterize": """(parameterize ((param value) ...) body ...)

Runs the body with other values for parameters (see make-parameter); tasks started in it inherit them.

(begin (define depth (make-parameter 1)) (parameterize ((depth 2)) (depth))) => 2""",
    "progn": """(progn body ...)

Another spelling of begin.

(progn 1 2) => 2""",
    "prompt": """(prompt (role content ...) ...)

A prompt: a sequence of messages for a language model.

(prompt (system "Be brief.") (user "Hello")) => <prompt 2 messages>
(prompt/messages (prompt (user "a" 1))) => (<message user "a1">)""",
    "py/call": """(py/call callable arg ... :name value ...)

Calls any Python callable with positional and keyword arguments. Needs the capability `python`, like all such forms.

(py/call (.-date (py/module "datetime")) 2024 :month 2 :day 3) => datetime.date(2024, 2, 3)""",
    "py/from": """(py/from "module" name ...)
(py/from "module" (name :as other) ...)

Binds names of a Python module. Calls to such a name take keyword arguments.

(begin (py/from "datetime" timedelta) (str (timedelta :days 2))) => "2 days, 0:00:00\"""",
    "py/import": """(py/import "module")
(py/import "module" :as name)

Imports a Python module. `module.name` then means its attribute, in calls with keyword arguments too; of a dotted module
the first part is bound, as in Python. (.method object arg ...) and (.-attribute object) work on any value.

(begin (py/import "json") (json.dumps [1 2] :indent nil)) => "[1, 2]"
(begin (py/import "os.path" :as path) (path.join "a" "b")) => "a/b"
(.upper "loud") => "LOUD\"""",
    "py/with": """(py/with (name context-manager) body ...)

Runs the body in a Python context manager; name is bound to the result of entering it.

(begin (py/from "io" StringIO) (py/with (f (StringIO "text")) (.read f))) => "text\"""",
    "quasiquote": """`template
(quasiquote template)

Data with holes: ,x inserts a value, ,@xs the elements of a list. `name#` is a fresh symbol, the same one throughout
the template.

(let ((x 2)) `(1 ,x ,@(list 3 4))) => (1 2 3 4)""",
    "quote": """'datum
(quote datum)

The datum itself, not evaluated.

'(+ 1 2) => (+ 1 2)""",
    "set!": """(set! name value)

Sets an existing variable to a new value and returns the value. An unknown name becomes a global variable.

(let ((x 1)) (set! x 5) x) => 5""",
    "some->": """(some-> value form ...)

Like -> but stops with nil as soon as a value is nil.

(some-> {:a nil} :a :b) => nil""",
    "throw": """(throw value)

Throws any value as an error; the map that catch binds has it under :value.

(try (throw 5) (catch e (:value e))) => 5""",
    "try": """(try body ... (catch name handler ...))

Catches errors: runs the body; an error is bound to name as a map with :type, :message and more, and the handler's
value is returned.

(try (/ 1 0) (catch e (:message e))) => "division by zero\"""",
    "unless": """(unless test body ...)

Runs the body when test is #f or nil.

(unless (> 1 2) :yes) => :yes""",
    "when": """(when test body ...)

Runs the body when test is neither #f nor nil; returns nil otherwise.

(when (> 2 1) :yes) => :yes""",
    "when-let": """(when-let (name expr) body ...)

Binds name to the value of expr and runs the body unless that is nil. #f counts as a value here.

(when-let (x (get {:a 1} :a)) (* x 10)) => 10""",
    "while": """(while test body ...)

A loop: runs the body as long as test is neither #f nor nil. Returns nil.

(let ((i 0)) (while (< i 3) (set! i (+ i 1))) i) => 3""",
}

VALUES: dict[str, str] = {
    "*stderr*": """The standard error output (stderr) of the program, as a stream.

(stream/type *stderr*) => "stderr"
(stream/write-string *stderr* "no such file\\n") => 13""",
    "*stdin*": """The input (stdin) of the program, as a stream.

(stream/type *stdin*) => "stdin\"
; (stream/read-all *stdin*)""",
    "*stdout*": """The output (stdout) of the program, as a stream.

(stream/type *stdout*) => "stdout\"
(stream/writable? *stdout*) => #t""",
    "*workflow-args*": """The arguments of a workflow, the JSON of `sema workflow run FILE --args JSON`, or {}.

(get *workflow-args* :folder "src") => "src\"""",
    "e": """Euler's number, the base of natural logarithms.

(log e) => 1.0""",
    "inf": """Infinity, a float greater than all numbers; `math/infinity` is the same.

(/ 1 0.0) => inf
(< 1e308 inf) => #t""",
    "math/infinity": """Infinity, a float greater than all numbers; `inf` is the same.

(math/infinite? (- math/infinity)) => #t""",
    "math/nan": """NaN, the float that is not a number; `nan` is the same.

(= math/nan math/nan) => #f""",
    "nan": """NaN, the float that is not a number; `math/nan` is the same.

(math/nan? nan) => #t""",
    "pi": """π, the ratio of the circumference of a circle to its diameter.

(* 2 pi) => 6.283185307179586""",
}
