"""The names bound at the start of a reference interpreter, in an order that settles ties between equally near names.

Generated from the reference's answers to misspelt names; hints stay the same when builtins are added here.
"""

_TEXT = """
+ * - / < > <= >= = bit/shift-left bit/shift-right bool? boolean? ceil char->integer char-alphabetic? char-numeric?
char-upper-case? char-lower-case? char-upcase char-downcase char-whitespace? char/alphabetic? char/numeric?
char/to-integer char/upper-case? char/lower-case? char/upcase char/downcase char/whitespace? context/set context/get
context/has? context/all context/pull context/push context/remove context/pop context/set-hidden context/get-hidden
context/has-hidden? context/stack context/merge context/clear context/with conversation? document/create
document/text document/metadata eq? even? gc/collect hash/hmac-sha256 integer->char integer/to-char make-rectangular
math/degrees->radians math/format-fixed math/radians->degrees math/round-to mod modulo not null? nil? odd? positive?
negative? pow log promise-forced? prompt/render prompt/template quotient rational? rationalize real-part
redact/spans regex/find-all regex/match? regex/match secret/detect secret/redact sema/check-string string->symbol
string->keyword string-append string-length string-ref string/byte-length string/capitalize string/split
string/lines string/starts-with? string/ends-with? string/title-case string/to-symbol string/to-keyword string/trim
string/truncate-width string/upper string/lower string->number string->float string/replace regex/replace
regex/replace-all regex/split string/normalize string/replace-first string/to-number sys/arch sys/home-dir
sys/interactive? sys/platform term/strikethrough term/underline term/with-alt-screen term/with-bracketed-paste
term/with-focus-events term/with-kitty-keys term/with-mouse text/chunk-by-separator text/clean-whitespace
text/normalize-newlines text/split-sentences text/strip-html text/trim-indent text/word-count time/date-parts
uuid/v4 web/user-agent web/user-agent-data zero? bytes/parse-int10 bytevector-length bytevector-u8-ref
bytevector-u8-set! make-bytevector async/forced? async/resolved async/rejected async/resolved? async/rejected?
async/cancelled? parallel-settled pipeline-settled settled-partition settled/ok? settled/err? file/is-directory?
path/extension json/encode json/decode json/encode-pretty any any? fn? append apply assq assv call-with-values car
caar caaar cdr cadr caadr cdar cadar cdaar cddr caddr cdadr cddar cdddr cons drop enumerate for-each frequencies
iota length list list? first last list/contains? string/contains? string/codepoints string/from-codepoints
list/cross-join list/index-of string/index-of string/last-index-of list/interleave list/nth-or list/split-at
list/duplicates list/take-last list/drop-last list/group-by list/unique diff/unified list/chunk list/dedupe
list/shuffle list/sum map max min map-indexed nth range angle reverse every every? char=? char<? char<=? char>?
char>=? char? some? complex? sort str sort-by sqrt take take-while drop-while list/take-while list/drop-while
make-list zip pi sin spy tap assoc contains? deep-merge dissoc get-in ceiling gensym hashmap/contains? keys
map/deep-merge map/map-vals map/select-keys update-in mutable-array/new mutable-array/get mutable-array/push!
mutable-array/set! mutable-array/->vector mutable-array/length mutable-cell/new mutable-cell/get mutable-cell/set!
otel/configure otel/retrieval-span otel/set-attribute otel/set-attributes otel/set-status otel/with-session type
type-of -> ->> for-range parameterize when-let stream/available? stream/byte-buffer stream/from-string with-stream
io/with-raw-mode toml/decode toml/encode base64/encode base64/decode base64/encode-bytes base64/decode-bytes
f64-array/make f64-array f64-array/ref f64-array/set! f64-array/length f64-array/sum f64-array/dot f64-array/map
f64-array/fold f64-array/from-list f64-array/range f64-array? i64-array/make i64-array i64-array/ref i64-array/set!
i64-array/length i64-array/sum i64-array/map i64-array/fold i64-array? i64-array/from-list i64-array/range vector
vector? bytevector? keyword? bytevector-copy bytevector-append filter flatten flatten-deep flat-map foldl fold foldr
float? exact? floor float format format/form inexact? map? pair? real? equal? empty? read/all parallel interpose
member number? integer? exact-integer? exact->inexact exact-integer-sqrt inexact->exact numerator denominator
symbol? time mapcar partition magnitude list/min list/max list/pick list/avg list/repeat list/pluck text/chunk
document/chunk list/sliding rest assert assert= shell reduce procedure? prompt? promise? record? retry
async/promise? async/pending? values assoc-in count round get e gcd int env lcm hash-map hash-ref hashmap/new
hashmap/get hashmap/assoc hashmap/to-map merge vals abs cos as-> guard load read some-> list->vector bytevector
list->bytevector list/to-bytevector string->bytevector list/reject list/intersect list/median list/mode list/diff
list/key-by list/times list/page list/find substring symbol->string keyword->string number->string char->string
char-ci=? char-ci<? char-ci<=? char-ci>? char-ci>=? symbol/to-string keyword/to-string number/to-string
char/to-string channel? list/pad list/join list->string make-string make-polar imag-part inexact exact expt exit
make-parameter string/join string/chars string->char string/chop-start string/ensure-start string/repeat
string/number? string/reverse string/empty? string/foldcase string/map string/snake-case string/kebab-case
string/trim-left string/pad-left string/after string/after-last string/before string/before-last string/between
string/camel-case string/chop-end string/ensure-end string/pascal-case string/remove string/replace-last
string/to-float string/trim-right string/pad-right time/ms truncate text/truncate utf8->string utf8/to-string
list/sole hash-map? hash/md5 hash/sha256 read-many map/entries map/filter map/from-entries map/map-keys hashmap/keys
map/sort-keys map/update map/except text/excerpt map/zip map/new math/pow remainder channel/new channel/send
channel/recv channel/close channel/closed? channel/count channel/empty? channel/full? channel/try-recv map/get-in
math/tan sys/set-env map/assoc-in math/asin math/acos math/atan math/atan2 math/exp math/log10 math/log2
math/map-range math/random math/clamp math/random-int math/remainder math/sign hash/digest math/sinh math/cosh
math/lerp math/tanh math/nan? bit/and bit/or bit/not bit/xor error math/gcd math/infinite? math/infinity math/lcm
math/nan math/quotient sys/os sys/cwd sys/elapsed sys/hostname time/now time/add time-ms time/diff time/format
time/parse csv/parse csv/encode csv/parse-maps map/update-in otel/span async/spawn otel/event otel/llm-span
otel/llm-usage otel/tool-span pio/nop pio/jmp pio/wait async/await async/run async/cancel async/all sys/env-all
sys/temp-dir async/race agent/run async/race-owned async/spawn-all async/timeout async/sleep async/pool-map
async/map async/with-timeout pio/in pio/irq pio/out pio/push pio/pull pio/mov pio/set pio/side diff/stat diff/hunks
diff/parse diff/apply display gc/stats sys/args pipeline llm/chat llm/pmap pio/assemble pio/delay pii/detect dotimes
if-let with-open path/join path/dir path/dirname path/ext path/filename path/basename path/absolute with-span
with-session with-retry vector->list bytevector->list string->list string-ci=? string/take string/headline
string/words string/wrap string/ref string/unwrap string/intern string/width string-join string-split string-trim
string-upcase string-downcase string/append string/length string/slice string/to-char string/to-list
string/word-wrap string? print println pprint print-error println-error read/string bytes/length bytes/ref
bytes/find bytes/slice bytes/->string bytevector/new bytevector/make bytevector/length bytevector/ref
bytevector/set! bytevector/copy bytevector/append bytevector/u8-ref bytevector/u8-set! bytevector/to-list
bytevector/from-list string->utf8 string/to-utf8 bytevector->string stream? llm/stream stream/read stream/read-byte
stream/readable? stream/read-all stream/read-line stream/write stream/close stream/flush stream/type
stream/write-byte stream/from-bytes stream/writable? stream/to-bytes stream/copy term/bold term/dim term/italic
term/black term/inverse term/red term/green term/yellow term/blue term/magenta term/cyan term/gray term/rgb
term/strip term/white sys/which term/style file/read file/read-lines file/write file/exists? file/is-file?
file/is-symlink? file/write-lines stream/to-string stream/write-string http/serve http/get http/delete file/delete
file/rename http/post http/put http/request ws/listen newline read-line read-stdin sys/user sys/pid sys/tty
file/list file/mkdir file/append file/copy file/info checkpoint defworkflow phase step sleep workflow/run-form
policy/without
"""
NAMES: tuple[str, ...] = tuple(_TEXT.split())
