autocmd BufNewFile,BufRead *.sema setfiletype sema
autocmd BufNewFile,BufRead * if getline(1) =~# '^#!.*\<sema\>' | setfiletype sema | endif
