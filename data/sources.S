/* heed's own sources and documents, for data/text_corpus.cpp. CMake makes HEED_SOURCES_FILE. */
    .section .rodata
    .global heed_sources_begin
    .hidden heed_sources_begin
heed_sources_begin:
    .incbin HEED_SOURCES_FILE
    .global heed_sources_end
    .hidden heed_sources_end
heed_sources_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
