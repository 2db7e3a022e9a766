"""Names that other languages have and Sema lacks, with what to write instead: Scheme, Racket, Clojure, Common Lisp,
Emacs Lisp, Hy, Python, JavaScript.

An entry of the table is `name name ... => what to write`; its names may take several lines. In the snippets n and x
are numbers, xs and ys lists, m is a map, k a key, v any value, s a string, f and g are functions, p is a predicate,
err is a caught error, path names a file. A test runs every snippet.
"""

from __future__ import annotations

from functools import cache

_TABLE = r"""
inc 1+ add1 plus1 => (+ n 1)
dec 1- sub1 => (- n 1)
incf ++ += inc! => (set! n (+ n 1))
decf -- -= dec! => (set! n (- n 1))
*= => (set! n (* n 2))
% rem fmod floor-remainder truncate-remainder floor-mod => (mod n 2)
// quot div floor-quotient truncate-quotient integer-divide floordiv => (quotient n 2)
floor/ truncate/ divmod quotient/remainder euclidean/ => (list (quotient n 2) (mod n 2))
** ^ math/expt math/power power => (pow n 2)
square sqr => (* n n)
cube => (* n n n)
math/sqrt math.sqrt Math/sqrt Math.sqrt => (sqrt n)
math/floor math.floor Math/floor Math.floor => (floor n)
math/ceil math/ceiling math.ceil Math/ceil Math.ceil => (ceil n)
math/round Math/round Math.round => (round n)
math/abs math.fabs Math/abs Math.abs => (abs n)
math/max Math/max Math.max => (max n 1)
math/min Math/min Math.min => (min n 1)
math/sin math.sin Math/sin => (sin n)
math/cos math.cos Math/cos => (cos n)
tan math.tan => (math/tan n)
atan math.atan => (math/atan n)
asin => (math/asin 1)
acos => (math/acos 1)
atan2 math.atan2 => (math/atan2 1 2)
exp math.exp Math/exp => (math/exp n)
math/log math.log Math/log ln => (log n)
log2 math.log2 => (math/log2 8)
log10 math.log10 => (math/log10 100)
math/pi math.pi Math/PI Math.PI => pi
math/e math.e Math/E => e
trunc truncate-number math/trunc math.trunc => (int 2.5)
exact-round round-int => (int (round 2.5))
exact-floor floor-int => (int (floor 2.5))
exact-ceiling => (int (ceil 2.5))
signum sgn sign => (math/sign n)
clamp => (math/clamp n 0 10)
lerp => (math/lerp 0 10 0.5)
toFixed to-fixed format-number number-format round-decimals => (math/format-fixed 3.14159 2)
round-to round-places => (math/round-to 3.14159 2)
parse-int parse-integer parse-long parseInt Integer/parseInt string->int str->int string->integer
  => (string->number "12")
parse-number parse-double parse-float parseFloat Double/parseDouble to-number str->num string-to-number atoi
  read-number => (string->number "12")
int->string int->str integer->string num->string num->str number->str number-to-string itoa => (number->string n)
evenp => (even? n)
oddp => (odd? n)
zerop is-zero => (zero? n)
plusp pos? => (positive? n)
minusp neg? => (negative? n)
natural? nat-int? natnump => (and (integer? n) (>= n 0))
numberp => (number? n)
integerp int? isinteger => (integer? n)
floatp real-float? => (float? n)
nan? isnan math.isnan => (math/nan? n)
infinite? isinf => (math/infinite? n)
rand random random.random rand-float => (math/random)
rand-int random-int randint random.randint random-integer => (math/random-int 1 6)
rand-nth random-choice random.choice random-ref => (list/pick xs)
shuffle random.shuffle list-shuffle => (list/shuffle xs)
average mean statistics.mean => (avg xs)
median => (list/median xs)
product prod math.prod => (foldl * 1 xs)
maximum max-list list-max => (apply max xs)
minimum min-list list-min => (apply min xs)
bit-and bitwise-and logand => (bit/and 6 3)
bit-or bitwise-ior bitwise-or logior => (bit/or 6 3)
bit-xor bitwise-xor logxor => (bit/xor 6 3)
bit-not bitwise-not lognot => (bit/not 6)
bit-shift-left arithmetic-shift ash shift-left << => (bit/shift-left 1 4)
bit-shift-right shift-right >> => (bit/shift-right 16 4)
== eqv? eql eq equal equalp =? identical? === => (equal? n 6)
!= /= <> !== neq not-equal not-equal? => (not (= n 1))
&& => (and p #t)
|| => (or p #f)
! => (not #f)
compare cmp <=> => (cond ((< n 1) -1) ((> n 1) 1) (else 0))
string=? string= string-equal str= => (= s "a")
string<? string< str<? => (< s "b") ; to sort texts, (sort xs)
string>? string> str>? => (> s "b") ; to sort texts downwards, (reverse (sort xs))
string<=? => (<= s "b")
string>=? => (>= s "b")
string-ci<? => (< (string/lower s) "b")
char= char-equal => (char=? #\a #\b)
symbol=? boolean=? keyword-identical? => (equal? 'a 'b)
True true? => #t
False false? => #f
None null undefined nothing void => nil
nullp none? undefined? nil-p => (nil? v)
not-nil? defined-value? => (not (nil? v))
atom? atomp => (not (or (list? v) (vector? v)))
listp consp => (list? xs)
seq? sequential? coll? sequence? sequencep array? seqable? collection? => (or (list? xs) (vector? xs))
stringp str? text? isstring => (string? s)
symbolp => (symbol? v)
keywordp => (keyword? k)
vectorp => (vector? v)
functionp ifn? function? callable? callable lambda? => (fn? f)
hash? hash-table? hash-table-p dict? dictionary? mapp object? => (map? m)
instance? isinstance is-a? => (equal? (type v) :int)
typeof class-of => (type v)
identity id itself => (fn (x) x)
fnil or-default => (fn (x) (f (or x 0)))
constantly const => (fn (. args) v)
comp compose compose1 => (fn (x) (f (g x)))
partial curry rcurry papply => (fn (x) (f 1 x))
complement negate => (fn (x) (not (p x)))
juxt => (fn (x) (list (f x) (g x)))
flip => (fn (a b) (f b a))
invoke => (f x)
apply* => (apply f xs)
memoize memo lru-cache functools.lru_cache
  => (let ((seen {})) (fn (x) (when (not (contains? seen x)) (set! seen (assoc seen x (f x)))) (get seen x)))
named-lambda fn* λ function => (fn (x) (+ x 1))
defn- defun- defun* defsubst func def-fn => (define (double x) (* 2 x))
case-lambda defn-multi opt-lambda => (define (f x . more) (if (null? more) x (+ x (first more))))
var defconst defconstant defvar- define-constant def- defonce define-variable => (define limit 10)
assign set setq-local reset! vreset! setf! set-box! swap-vals! => (set! n 2)
box ref volatile! make-cell => (define counter 0)
unbox => n
letrec* letfn let-rec labels* => (letrec ((f (fn (x) x))) (f 1))
let-syntax letrec-syntax => (define-syntax twice (syntax-rules () ((_ e) (begin e e))))
receive destructuring-bind call-with-values* let-destructure => (let (([a b] (list 1 2))) (+ a b))
match-let match-define match-lambda pcase pcase-let cl-case core.match => (match (list 1 2) ([a b] (+ a b)) (_ 0))
switch ecase typecase condp select-case => (case n ((1 2) :few) (else :many))
elif elsif elseif else-if => (cond ((> n 9) :big) ((> n 5) :medium) (else :small))
else otherwise => (cond ((> n 9) :big) (else :small))
=> when-let* if-let* cond=> => (let ((found (get m k))) (if found found 0))
cond-> cond->> => (if p (+ n 1) n)
when-not if-not unless-not => (unless #f n)
when-some if-some when-let! => (when-let (x (get m k)) x)
some->> => (some-> xs first)
doto! => (begin (println x) x)
doto => (let ((x 1)) (println x) x)
begin0 prog1 => (let ((result n)) (println "after") result)
prog2 eval-when prog => (begin 1 2)
recur again continue tail-call => (let loop ((i 0)) (if (< i 9) (loop (+ i 1)) i))
return => (if (> n 3) n 0)
break exit-loop => (let loop ((i 0)) (if (> i 3) i (loop (+ i 1))))
until loop-until do-while repeat-until while-loop while-let => (let ((i 0)) (while (not (> i 3)) (set! i (+ i 1))))
dolist doseq foreach for_each each for-of vector-for-each run! doall dorun mapdo forEach
  => (for-each (fn (x) (println x)) xs)
for for* list-comp for/list for*/list for/vector listcomp lfor => (map (fn (x) (* x x)) xs)
for/fold for/accumulate reduce-kv* => (foldl (fn (total x) (+ total x)) 0 xs)
for/sum sum-of sumf => (sum (map f xs))
for/and all all? every-p andmap forall => (every p xs)
for/or ormap any-p exists any-of notany => (any p xs)
for/hash for/dict dict-comp dfor => (map/from-entries (map (fn (x) (list x (* x x))) xs))
do-times dotimes* repeat-times times for-i loop-for => (dotimes (i 3) (println i))
for/range for-in range-loop for-loop => (for-range (i 0 3) (println i))
pass noop comment => nil
yield generator gen lazy-seq stream-cons cons-stream make-promise delay-force lazy => (delay (+ 1 2))
second cadr* => (cadr xs)
third => (caddr xs)
fourth => (nth xs 3)
fifth => (nth xs 4)
head hd car* => (first xs)
tail tl next rest* cdr* => (rest xs)
nnext cddr* => (cddr xs)
ffirst => (first (first (list xs)))
list-ref vector-ref elt aref svref get-nth nth-elt vec-ref list/ref list/nth list/get vector/ref vector/get
  => (nth xs 1)
list-tail nthcdr nthrest list/drop skip => (drop 1 xs)
list-head firstn first-n take-first list/take => (take 2 xs)
butlast init drop-last but-last drop-right list/butlast => (list/drop-last 1 xs)
take-last take-right lastn => (list/take-last 2 xs)
last-pair peek last-item list/last => (last xs)
list/first => (first xs)
list/rest => (rest xs)
push push! cons! unshift prepend list/cons add-first => (cons x xs)
cons* list* => (cons 1 (cons 2 xs))
pop pop! shift => (rest xs)
concat concatenate nconc append! list-append list/append list/concat extend conj* append-list vector-append
  vector/append => (append xs ys)
append-item add push-back conj! append1 vector-push! vector/push list/add snoc list/push => (append xs (list x))
append-map concat-map concatMap mapcan mappend append* list/flat-map flatmap => (flat-map f xs)
mapv mapc mapl map* list/map vector-map vector/map array-map map-in-order fmap collect => (map f xs)
map2 zip-with zipwith zipWith map-2 => (map + xs ys)
filter-map => (keep f xs)
filterv filter* select keep-if remove-if-not list/filter where vector-filter => (filter p xs)
remove reject remove-if filter-not list/remove filterfalse reject-if => (list/reject p xs)
delete remq remv del-item list/delete without remove-item => (filter (fn (y) (not (equal? y 1))) xs)
fold-left reduce-left inject accumulate functools.reduce list/fold list/reduce vector-fold fold-l => (foldl + 0 xs)
fold-right reduce-right fold-r => (foldr cons '() xs)
reduce-kv hash-fold map-fold => (foldl (fn (total kv) (+ total (cadr kv))) 0 (map/entries m))
reductions scan scanl itertools.accumulate
  => (reverse (foldl (fn (sums x) (cons (+ x (if (null? sums) 0 (first sums))) sums)) '() xs))
unfold => (let loop ((i 0) (out '())) (if (= i 3) (reverse out) (loop (+ i 1) (cons i out))))
iterate => (let loop ((i 0) (x 1)) (if (= i 3) x (loop (+ i 1) (* x 2))))
repeat replicate => (list/repeat 3 x)
repeatedly tabulate build-list list-tabulate make-initialized-list => (list/times 3 (fn (i) (* i i)))
cycle => (nth xs (mod n (length xs)))
take-nth => (map first (list/chunk 2 xs))
in-range xrange arange inclusive-range list/range => (range 0 3)
interleave list-interleave => (list/interleave xs ys)
intersperse list/interpose => (interpose 0 xs)
partition-all partition-n chunk chunked in-groups-of list/partition batched grouped => (list/chunk 2 xs)
partition-by chunk-by group-consecutive itertools.groupby => (list/group-by f xs)
sliding sliding-window each-cons partition-step => (list/sliding xs 2)
split-at list/split => (list/split-at xs 1)
split-with span break-at => (list (take-while p xs) (drop-while p xs))
group-by groupBy groupby group_by list/group list/groupby => (list/group-by f xs)
count-if countif count-where list/count => (count (filter p xs))
len size list-length list/length vector-length vector/length array-length length* list/size string-size string/len
  string/size => (length xs)
hash-count map/count map/size dict-size map/length => (count m)
position indexOf list-index list/position find-index index-where elem-index => (list/index-of xs 1)
find find-if detect list-find first-where some-fn find-first find-tail => (list/find p xs)
memq memv member? in in? elem elem? contains list-contains? list/includes? list/member? includes list/has? element?
  vector-contains? => (list/contains? xs 1)
none none-of not-any? not-any none-p => (not (any p xs))
not-every? not-every => (not (every p xs))
sorted sort! list-sort sort-list vector-sort list/sort sort-asc qsort => (sort xs)
sort-on sort-with-key sortBy sort_by list/sort-by sort-by-key order-by => (sort-by f xs)
sort-desc sort-descending reverse-sort => (sort xs >)
rev reversed reverse! nreverse list-reverse list/reverse vector-reverse rseq => (reverse xs)
max-key argmax maximum-by list/max-by => (max-by f xs)
min-key argmin minimum-by list/min-by => (min-by f xs)
distinct unique uniq unique-by nub dedup remove-duplicates delete-duplicates list/distinct list/uniq list/dedup
  => (list/unique xs)
dedupe => (list/dedupe xs)
union set-union list/union lset-union => (list/unique (append xs ys))
intersection set-intersection lset-intersection list/intersection => (list/intersect xs ys)
difference set-difference remove-all lset-difference list/difference => (list/diff xs ys)
subset? => (every (fn (x) (list/contains? ys x)) xs)
set-add adjoin hash-set set/new make-set set-of list->set to-set frozenset => (list/unique (cons x xs))
cartesian-product cross-product itertools.product => (list/cross-join xs ys)
transpose unzip zip* => (apply map list (list xs ys))
Counter collections.Counter count-occurrences list/frequencies => (frequencies xs)
empty is-empty isEmpty list/empty? list-empty? emptyp => (empty? xs)
not-empty nonempty? non-empty? not-empty? seq => (not (empty? xs))
list-copy copy-list vector-copy copy-seq clone => xs
flatten* flatten-all deep-flatten list/flatten => (flatten-deep (list xs ys))
rotate => (append (drop 1 xs) (take 1 xs))
subvec subvector sublist slice list-slice subseq list/slice vector-slice => (take 2 (drop 1 xs))
update-nth list-set list/set replace-nth vector-set list-update => (map-indexed (fn (i x) (if (= i 1) 0 x)) xs)
make-vector make-array vector/make array new-array => (list->vector (list/repeat 3 0))
vector-set! aset list-set! vector/set! array-set!
  => (let ((a (mutable-array/new 3 0))) (mutable-array/set! a 1 x) (mutable-array/get a 1))
vec to-vec into-vector list-to-vector => (list->vector xs)
to-list into-list tolist seq->list => (vector->list [1 2])
pmap parallel-map asyncio.gather Promise.all => (async/map f xs)
update map/update! dict-update hash-update hash-update! alter update! => (map/update m k (fn (x) (+ x 1)))
update-vals map-vals map-values mapvalues map/map-values hash-map-values map/update-vals => (map/map-vals f m)
update-keys map-keys map/update-keys => (map/map-keys f m)
get-or-default getOrDefault dict-get dict-ref map-ref map/get map/ref hash-table-ref hash/get gethash get* getor
  lookup plist-get get-value => (get m k 0)
map-set! hash-put put puthash put! dict-set dict-set! map/set map/put map/assoc map/add assoc! hash-table-set!
  hash/set map-assoc => (assoc m k v)
remhash hash-remove hash-remove! hash-table-delete! dissoc! map/remove map/dissoc map/delete del delete-key
  map-remove dict-remove => (dissoc m k)
map/keys hash-keys hash-table-keys dict-keys keys* map-keys-list hash/keys => (keys m)
map/values map/vals hash-values hash-table-values dict-values values-list vals-list hash/values => (vals m)
hash->list hash-table->alist dict-items map->list map/to-list map/items map/pairs map->alist seq-map Object.entries
  => (map/entries m)
merge-with merge-by
  => (foldl (fn (acc kv) (map/update acc (first kv) (fn (old) (+ (or old 0) (cadr kv))))) m (map/entries m))
map/merge hash-union dict-merge map-merge merge* hash/merge Object.assign => (merge m {:c 3})
select-keys map/select pick map-select select-fields map/pick => (map/select-keys m (list :a))
omit map/omit dissoc-keys => (map/except m (list :a))
has-key? hash-has-key? hash-table-exists? hash-contains? hash-table-contains? map/has? map/contains? map/has-key?
  map-contains? contains-key? containsKey dict-has-key? has? hash/has? => (contains? m k)
make-hash make-hash-table make-hasheq make-hashmap hash hash-table dict dictionary map/empty map/make sorted-map
  => {:a 1}
alist->map alist->hash-table list->map pairs->map map/from-list map/from-pairs from-pairs make-immutable-hash
  into-map map/from-alist Object.fromEntries => (map/from-entries (list (list :a 1)))
zipmap zip-map map/from-lists => (map/zip (list :a :b) xs)
assoc-ref assq-ref alist-get alist-ref aget => (cadr (assoc "a" '(("a" 1))))
dissoc-in update-in! => (map/update m :inner (fn (inner) (dissoc (or inner {}) k)))
map-invert invert => (map/from-entries (map reverse (map/entries m)))
hash-for-each maphash map/for-each dict-for-each map/each hash/for-each
  => (for-each (fn (kv) (println (first kv) (cadr kv))) (map/entries m))
map/map hash-map* map-kv mapkv => (map (fn (kv) (cadr kv)) (map/entries m))
filter-vals map/filter-vals filter-map-vals => (map/filter (fn (k v) (> v 1)) m)
map/find => (list/find (fn (kv) (> (cadr kv) 1)) (map/entries m))
string-contains? str-contains? str/includes? string/includes? string-search string-includes?
  clojure.string/includes? => (string/contains? s "a")
string-prefix? string-starts-with? startswith starts-with str/starts-with? string-prefix clojure.string/starts-with?
  startsWith => (string/starts-with? s "a")
string-suffix? string-ends-with? endswith ends-with str/ends-with? clojure.string/ends-with? endsWith
  => (string/ends-with? s "b")
string-replace str-replace str/replace clojure.string/replace replace-all replaceAll string/replace-all
  string-replace-all replace-in-string string-substitute => (string/replace s "a" "b")
string-index string-find str-index string/find str/index-of string-search-forward string-position find-string
  => (string/index-of s "b")
string-upper upcase uppercase toUpperCase str/upper-case str/upper string/upcase string/upper-case string-up
  clojure.string/upper-case to-upper => (string/upper s)
string-lower downcase lowercase toLowerCase str/lower-case str/lower string/downcase string/lower-case
  clojure.string/lower-case to-lower => (string/lower s)
capitalize-words string-titlecase titlecase title-case => (string/title-case s)
string-capitalize str/capitalize clojure.string/capitalize => (string/capitalize s)
string-reverse reverse-string str/reverse clojure.string/reverse => (string/reverse s)
string-concat strcat concat-string string+ str+ string/concat str-concat string-append* concat-strings append-string
  => (str s "c")
substr subs string-slice string/substring string/sub sub-string str/slice => (substring s 0 1)
string-null? string-empty? str-empty? string/null? empty-string? => (string/empty? s)
str/blank? string-blank? string/blank? clojure.string/blank? isspace => (blank? s)
string-chars explode string-to-list str->list string/to-chars string->chars => (string/chars s)
implode chars->string list-to-string string/from-chars => (list->string (list #\a #\b))
char-at charAt string-nth str-ref string/at string/nth => (string-ref s 0)
string-copy string-dup => s
string-repeat str-repeat repeat-string str/repeat string* make-string* => (string/repeat s 3)
string-pad-left pad-left ljust-left rjust zfill lpad pad-start padStart left-pad string/pad => (string/pad-left s 5)
string-pad-right pad-right ljust rpad pad-end padEnd right-pad => (string/pad-right s 5)
strip str/trim string-strip chomp string/strip string-trim-both trim-string clojure.string/trim => (string/trim s)
lstrip triml string-trim-left str/triml trim-left ltrim trim-start trimStart => (string/trim-left s)
rstrip trimr string-trim-right str/trimr trim-right rtrim trim-newline trim-end trimEnd => (string/trim-right s)
str-join str/join join-strings string-join* mapconcat clojure.string/join string-concatenate intercalate join-string
  => (string/join (list "a" "b") ", ")
split-string str-split string-tokenize tokenize str/split clojure.string/split string-split* => (string/split s ",")
str/words split-words split-whitespace string/split-whitespace => (string/words s)
splitlines split-newline str/split-lines clojure.string/split-lines string/split-lines => (string/lines s)
string-format str-format string.format string/format fmt sprintf interpolate str/format => (format "~a" x)
printf fprintf print-format printfn => (println (format "~a" x))
to-string toString tostring ->string ->str as-string stringify anything->string any->string value->string to-str
  => (str x)
pr-str prn-str repr write-to-string prin1-to-string object->string print-str inspect => (format "~s" s)
prn pr write => (print s)
puts echo say console.log print-line write-line displayln writeln write-string newline-print => (println s)
eprintln eprintf eprint warn console.error perror stderr => (println-error s)
char-code char->int ord char-int charCodeAt => (char->integer #\a)
chr code-char int->char char-from-code fromCharCode => (integer->char 97)
isdigit is-digit char-digit? digit? digit-char-p Character/isDigit => (char-numeric? #\1)
isalpha is-alpha alpha? letter? char-letter? alpha-char-p => (char-alphabetic? #\a)
isupper upper? => (char-upper-case? #\A)
char->digit digit->int digit-value => (string->number (char->string #\7))
symbol-name symbol->str sym->str => (symbol->string 'a)
name keyword-name keyword->str kw->str => (keyword->string :a)
make-keyword keyword str->keyword => (string->keyword "a")
intern make-symbol sym => (string->symbol "a")
string-builder StringIO with-out-str with-output-to-string string-buffer string-port open-output-string
  => (string/join (list "a" "b") "")
str/count => (length (regex/find-all "a" s))
string-for-each => (for-each println (string/chars s))
string/chars->list => (string/chars s)
re-find re-match regexp-match re.search re.match regex/find regex/search regex/exec re/match re/find string-match
  regex-match => (regex/match #"\d+" s)
re-matches regexp-match? regex/test regex/matches? regex-match? regex-test re/test string-match-p
  => (regex/match? #"\d+" s)
re-seq re.findall regexp-match* regex/all regex/match-all regex/scan re-find-all regex-find-all regex/findall
  => (regex/find-all #"\d+" s)
regexp-replace re.sub regexp-replace* re-replace regex-replace replace-regexp-in-string re/replace re-sub
  => (regex/replace-all #"\d" "x" s)
re.split regexp-split re-split regex-split => (regex/split #"," s)
re-pattern regexp regex re.compile pregexp regex/compile make-regexp => #"\d+"
with-open-file slurp read-file file->string read-text file/read-text file/slurp file/get readFile read-string-file open
  call-with-input-file with-input-from-file open-input-file file/open fs.readFileSync file/contents file/read-string
  file/read-all => (file/read path)
spit write-file file/spit string->file display-to-file write-to-file with-output-to-file call-with-output-file
  open-output-file writeFile file/put file/write-text file/write-string file/create file/save => (file/write path s)
append-file file/append-text file/append-line append-to-file appendFile => (file/append path s)
read-lines file->lines file/lines readlines line-seq file/readlines file-lines => (file/read-lines path)
write-lines => (file/write-lines path (list "a"))
file/remove file/rm file/unlink unlink os.remove delete-file remove-file rm file-delete fs/unlink path/delete
  => (file/delete path)
file/size file-size file/length os.path.getsize => (:size (file/info path))
file/stat file/mtime file-modified os.stat => (file/info path)
file-exists? exists? file/exist? path/exists? os.path.exists file-exists-p path-exists? fs/exists? file/exists
  => (file/exists? path)
mkdir make-directory create-directory file/make-dir os.makedirs file/create-dir file/mkdirs dir/create mkdirs
  path/mkdir => (file/mkdir (path/dirname path))
list-dir directory-list ls os.listdir file/ls file/list-dir directory-files dir/list listdir path/list file/dir
  => (file/list (path/dirname path))
glob glob.glob path/glob => (file/glob "*.txt")
directory? directory-exists? is-dir file/directory? file/dir? os.path.isdir dir? path/directory? file/is-dir?
  => (file/is-directory? path)
file? file/file? is-file regular-file? file/regular? os.path.isfile path/file? => (file/is-file? path)
rename-file file/move mv os.rename move-file => (file/rename path path)
copy-file file/cp shutil.copy cp => (file/copy path (str path ".copy"))
basename file-name path/name os.path.basename file/name file/basename => (path/basename path)
dirname path/parent os.path.dirname file/dirname parent-directory => (path/dirname path)
path-join file/join join-path os.path.join build-path file/path expand-file-name => (path/join "a" "b")
file-extension path/extname extname os.path.splitext path/suffix file/extension file/ext => (path/ext path)
path/basename-no-ext path/name-without-extension file-stem => (path/stem path)
cwd pwd getcwd os.getcwd current-directory sys/pwd => (sys/cwd)
getenv get-env os.getenv os.environ.get environ System/getenv env/get sys/getenv sys/env os/getenv => (env "HOME")
setenv set-env putenv => (sys/set-env "NAME" s)
argv args sys.argv command-line-arguments *command-line-args* current-command-line-arguments command-line sys/argv
  process.argv *args* => (rest (sys/args))
sys.exit System/exit quit os._exit die sys/exit process.exit os/exit => (exit 0)
system sh run-command subprocess.run subprocess exec os.system shell-command run-process process/run shell/run
  os/shell => (:stdout (shell "ls" "-l"))
input gets readline read-input prompt-user get-line => (read-line)
sys.stdin.read read-all stdin slurp-stdin io/read-all => (read-stdin)
json.loads json-parse json/parse parse-json JSON.parse json->map json->sexp string->jsexpr json/read json/read-str
  json/loads json/from-string read-json json-decode json/decode-string json-read cheshire/parse-string jsonparse
  => (json/decode "{}")
json.dumps json/stringify json/dumps json/generate JSON.stringify jsexpr->string to-json json/write json/write-str
  json/to-string json-encode json-stringify write-json map->json cheshire/generate-string => (json/encode m)
json/pretty json/encode-indent json/pretty-print json/format => (json/encode-pretty m)
csv/read parse-csv csv/decode csv->list csv/parse-file csv.reader csv/rows csv-parse csv/parse-string read-csv
  => (csv/parse s)
csv.DictReader csv/read-maps csv/parse-map csv->maps csv/parse-rows csv/maps csv/parse-records
  => (csv/parse-maps "a,b\n1,2")
csv/write csv.writer csv/generate write-csv csv/stringify csv/format => (csv/encode (list (list "a" 1)))
toml/parse toml.loads parse-toml => (toml/decode "a = 1")
toml/generate toml/write => (toml/encode {:a 1})
base64-encode b64encode base64.b64encode base64/enc => (base64/encode s)
base64-decode b64decode base64.b64decode => (base64/decode "YQ==")
sha256 hashlib.sha256 sha-256 crypto/sha256 hash/sha-256 => (hash/sha256 s)
md5 hashlib.md5 => (hash/md5 s)
uuid uuid4 gen-uuid random-uuid uuid/new uuid/generate uuid.uuid4 => (uuid/v4)
http-get requests.get fetch http.get curl http/fetch url-get wget axios.get
  => (:body (http/get "https://example.com"))
http-post requests.post http.post => (http/post "https://example.com" {:a 1})
current-time time.time current-seconds current-inexact-milliseconds now time/current unix-time time/epoch
  => (time/now)
current-time-ms System/currentTimeMillis current-milliseconds Date.now time/ms-now time/millis current-time-millis
  => (time-ms)
today current-date datetime.now date/now date datetime.date.today time/today date/today
  => (time/format (time/now) "%Y-%m-%d")
strftime date-format format-time date/format format-date date->string time->string time/strftime
  => (time/format 0 "%Y-%m-%d")
strptime parse-date date/parse string->date parse-time time/strptime => (time/parse "2025-01-15 00:00:00" "%F %T")
time.sleep Thread/sleep thread-sleep sleep-ms delay-ms setTimeout time/sleep => (sleep 1)
finally dynamic-wind unwind-protect ensure protect cleanup => (try (f x) (catch e (println "clean up") (throw e)))
condition-case handler-case handler-bind with-handlers rescue except catch-error try-catch guard* call-with-handler
  => (try (f x) (catch e (:message e)))
ignore-errors with-suppressed suppress => (try (f x) (catch e nil))
catch => (try (f x) (catch e (:message e)))
raise-error raise-user-error throw-error panic signal fail abort raise-continuable raise* raise-exception Error
  Exception. => (try (error "no") (catch e (:message e)))
ex-info make-condition make-exception new-error rethrow error-with-data
  => (try (throw {:code 1}) (catch e (:code (:value e))))
ex-message exception-message condition-message error-message error-object-message exn-message
  condition/report-string get-message error/message => (:message err)
ex-data error-data exception-value error-object-irritants error/data error-value => (:value err)
error? exception? error-object? exn? condition? => (try (f x) (catch e (:type e)))
assert-equal assertEqual check-equal? is= assert-eq assert-true assert-equals should-equal deftest
  => (assert (= n 6) "n is 6")
defstruct defrecord define-struct struct dataclass namedtuple deftype define-record
  => (define-record-type point (make-point x y) point? (x point-x))
defclass class define-class make-instance new object make-object => {:x 1}
defprotocol defgeneric define-generic extend-type extend-protocol definterface multimethod define-method
  => (begin (defmulti area :kind) (defmethod area :square (fn (shape) 4)) (area {:kind :square}))
define-macro define-syntax-rule macro defmacro! defmacro* macro-rules => (defmacro twice (e) `(begin ,e ,e))
with-gensyms once-only make-gensym => (gensym)
macroexpand-1 macroexpand-all expand macro-expand => (macroexpand '(when #t 1))
unquote unquote-splicing => (let ((x 1)) `(a ,x ,@xs))
boundp bound? defined? fboundp => (try n (catch e #f))
ns in-ns define-library defpackage defmodule package => (module shapes (export area) (define (area w h) (* w h)))
require use use-modules from require-python import-from include load-file => (import "shapes.sema")
provide exports => (module shapes (export area) (define (area w h) (* w h)))
future pcall spawn thread go go-block Thread asyncio.create_task create-task async/start spawn-task async/go
  => (await (async (f 1)))
async/gather gather await-all async/await-all wait-all async/join => (async/all (list (async (f 1))))
chan make-channel async/chan channel/make make-queue => (channel/new 4)
>! >!! put!! channel/put channel-send channel-put send! => (let ((c (channel/new 1))) (channel/send c 1))
<! <!! take!! channel/get channel/take channel-recv recv channel/receive channel-get
  => (let ((c (channel/new 1))) (channel/send c 1) (channel/recv c))
async/delay asyncio.sleep async/wait => (async/sleep 1)
asyncio.run run-async => (await (async (f 1)))
deliver promise/new make-promise* => (async/resolved 1)
with-timeout timeout async/deadline => (async/with-timeout 1000 (fn () 1))
time-it benchmark measure => (let ((start (time-ms))) (f 1) (- (time-ms) start))
trace dbg debug => (spy "x" x)
log/warning logger.warning logging.warning => (log/warn s)
logger.info logging.info console.info => (log/info s)
hasattr py/has => (py/hasattr? s "upper")
getattr => (py/getattr s "upper")
import-python py-import pyimport python/import => (py/import "statistics" :as stats)
llm/ask llm/call llm/generate llm/prompt openai.chat chat-completion llm/query => (llm/complete s {:max-tokens 100})
llm/json llm/structured llm/parse => (llm/extract {:total {:type :number}} s)
tool/define define-tool make-tool
  => (deftool shout "Says it loudly" {:text {:type :string}} (fn (text) (string/upper text)))
agent/new define-agent make-agent agent/create agent/ask
  => (begin (defagent helper {:system "Be brief."}) (agent/run helper s))
"""


@cache
def habits() -> dict[str, str]:
    """Foreign name → what to write in Sema."""
    table: dict[str, str] = {}
    names: list[str] = []
    for line in _TABLE.splitlines():
        more, arrow, snippet = line.rpartition(" => ")
        names += (more if arrow else line).split()
        if arrow:
            table.update(dict.fromkeys(names, snippet))
            names = []
    return table
