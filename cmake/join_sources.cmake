# cmake -D ROOT=... -D LIST=... -D OUTPUT=... -P join_sources.cmake: the files that LIST names, a
# line each and below ROOT, one after another into OUTPUT, each under a line with its name.
file(STRINGS ${LIST} names)
file(WRITE ${OUTPUT} "")
foreach(name IN LISTS names)
  file(READ ${ROOT}/${name} content)
  file(APPEND ${OUTPUT} "==== ${name} ====\n\n${content}\n")
endforeach()
