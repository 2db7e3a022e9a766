" Settings for Sema files: comments, names, indentation as in Lisp, formatting by sema fmt.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=;\ %s
setlocal comments=:;;;,:;;,:;
setlocal iskeyword=33,35-38,42,43,45-58,60-90,94,95,97-122,126,128-255
setlocal lisp
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal lispwords=define,def,defn,defun,defmacro,fn,lambda,let,let*,letrec,let-values,let*-values,when,unless,if
setlocal lispwords+=when-let,if-let,do,begin,progn,async,for,for-range,dotimes,while,cond,case,match,match*,try,catch
setlocal lispwords+=module,deftool,defagent,defmulti,defmethod,define-record-type,define-syntax,define-values,parameterize
if executable("sema")
  setlocal equalprg=sema\ fmt\ -
  setlocal formatprg=sema\ fmt\ -
endif

let b:undo_ftplugin = "setlocal commentstring< comments< iskeyword< lisp< expandtab< shiftwidth< softtabstop< lispwords<"
      \ . " equalprg< formatprg<"
