// memfd_create(2), strchrnul(3)
#define _GNU_SOURCE
#include "stand_in.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most_libraries = 8, most_versions = 4, most_symbols = 32, most_text = 1024 };
enum { bloom_words = 16, bloom_shift = 6, word_bits = sizeof(ElfW(Addr)) * 8 };

// A whole file, which ld.so maps as it is: an address in it is an offset.
// https://man7.org/linux/man-pages/man5/elf.5.html
struct image {
  ElfW(Ehdr) header;
  ElfW(Phdr) segments[3];
  ElfW(Dyn) dynamic[10];
  // https://sourceware.org/gnu-gabi/program-loading-and-dynamic-linking.txt (DT_GNU_HASH), with one
  // bucket, because hardly any symbol that is looked for passes the filter.
  struct {
    uint32_t bucket_count, first_symbol, word_count, shift;
    ElfW(Addr) bloom[bloom_words];
    uint32_t bucket, chain[most_symbols];
  } hashes;
  ElfW(Sym) symbols[1 + most_symbols];
  ElfW(Half) version_of[1 + most_symbols];
  struct {
    ElfW(Verdef) definition;
    ElfW(Verdaux) name;
  } versions[most_versions];
  char text[most_text];
};

// This program's own: what it says of the machine holds for a stand-in too.
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

// The address of every symbol.
static void left_out(void) { abort(); }

static uint32_t gnu_hash(const char *name) {
  uint32_t hash = 5381;
  while (*name) hash = hash * 33 + (unsigned char)*name++;
  return hash;
}

static uint32_t elf_hash(const char *name) {
  uint32_t hash = 0;
  while (*name) {
    hash = (hash << 4) + (unsigned char)*name++;
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  return hash;
}

// Appends each of the words, with an end of its own, and returns their number.
static size_t append(struct image *image, size_t *used, const char *words) {
  size_t count = 0;
  for (const char *end; *words; words = end + (*end == ' '), count++) {
    end = strchrnul(words, ' ');
    memcpy(image->text + *used, words, end - words);
    *used += end - words + 1;
  }
  return count;
}

static size_t after(const struct image *image, size_t word) {
  return word + strlen(image->text + word) + 1;
}

static size_t add_versions(struct image *image, size_t *used, const char *words) {
  size_t word = *used, count = append(image, used, words);
  for (size_t number = 0; number < count; number++, word = after(image, word)) {
    image->versions[number].definition = (ElfW(Verdef)){
        .vd_version = VER_DEF_CURRENT, .vd_ndx = VER_NDX_GLOBAL + 1 + number, .vd_cnt = 1,
        .vd_hash = elf_hash(image->text + word), .vd_aux = sizeof(ElfW(Verdef)),
        .vd_next = number + 1 < count ? sizeof image->versions[0] : 0};
    image->versions[number].name.vda_name = word;
  }
  return count;
}

static void add_symbols(struct image *image, size_t *used, const char *words) {
  size_t word = *used, count = append(image, used, words);
  for (size_t number = 1; number <= count; number++, word = after(image, word)) {
    uint32_t hash = gnu_hash(image->text + word);
    image->hashes.chain[number - 1] = (hash & ~1u) | (number == count);
    image->hashes.bloom[hash / word_bits % bloom_words] |=
        (ElfW(Addr))1 << hash % word_bits | (ElfW(Addr))1 << (hash >> bloom_shift) % word_bits;
    image->symbols[number] = (ElfW(Sym)){
        .st_name = word, .st_info = STB_GLOBAL << 4 | STT_FUNC, .st_shndx = SHN_ABS,
        .st_value = (uintptr_t)left_out};
    // A number that no version has: a symbol of any that is asked for.
    image->version_of[number] = VER_NDX_GLOBAL;
  }
  image->hashes.bucket_count = image->hashes.bucket = image->hashes.first_symbol = 1;
  image->hashes.word_count = bloom_words;
  image->hashes.shift = bloom_shift;
}

#define AT(member) offsetof(struct image, member)

static void fill(struct image *image, const struct authctl_stand_in *what) {
  size_t used = 1, library = used;
  append(image, &used, what->library);
  // There is always one: ld.so has only an assertion for a version that is asked of a file without.
  size_t versions = add_versions(image, &used, *what->versions ? what->versions : what->library);
  add_symbols(image, &used, what->symbols);

  const ElfW(Ehdr) *ours = &__ehdr_start;
  image->header = (ElfW(Ehdr)){
      .e_type = ET_DYN, .e_machine = ours->e_machine, .e_version = EV_CURRENT,
      .e_flags = ours->e_flags, .e_phoff = AT(segments), .e_ehsize = sizeof(ElfW(Ehdr)),
      .e_phentsize = sizeof(ElfW(Phdr)), .e_phnum = 3};
  memcpy(image->header.e_ident, ours->e_ident, EI_NIDENT);
  // Writable, because an ld.so older than glibc 2.35 changes the section in place.
  image->segments[0] = (ElfW(Phdr)){
      .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_filesz = sizeof *image,
      .p_memsz = sizeof *image, .p_align = getpagesize()};
  image->segments[1] = (ElfW(Phdr)){
      .p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_offset = AT(dynamic), .p_vaddr = AT(dynamic),
      .p_filesz = sizeof image->dynamic, .p_memsz = sizeof image->dynamic};
  // Without this one, ld.so would make the stacks executable.
  image->segments[2] = (ElfW(Phdr)){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W};
  const ElfW(Dyn) dynamic[] = {
      {DT_SONAME, {library}}, {DT_STRTAB, {AT(text)}}, {DT_STRSZ, {used}},
      {DT_SYMTAB, {AT(symbols)}}, {DT_SYMENT, {sizeof(ElfW(Sym))}}, {DT_GNU_HASH, {AT(hashes)}},
      {DT_VERDEF, {AT(versions)}}, {DT_VERDEFNUM, {versions}}, {DT_VERSYM, {AT(version_of)}}};
  memcpy(image->dynamic, dynamic, sizeof dynamic);
}

// Loads the stand-in for `what` and returns its handle, for dlclose(3); NULL if that is not possible.
static void *load(const struct authctl_stand_in *what) {
  struct image image = {0};
  fill(&image, what);
  int file = memfd_create(what->library, MFD_CLOEXEC);
  if (file < 0) return NULL;
  void *handle = NULL;
  if (write(file, &image, sizeof image) == sizeof image) {
    // A descriptor has the number of one before, and to ld.so the same path is the same file: one more
    // slash makes another path.
    static atomic_int number;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd%.*s%d", ++number, "////////////////", file);
    handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  }
  close(file);
  return handle;
}

void *authctl_open_without(const struct authctl_stand_in *stand_ins, int count, const char *library) {
  void *handles[most_libraries];
  for (int number = 0; number < count; number++) handles[number] = load(&stand_ins[number]);
  void *opened = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (opened) return opened;
  for (int number = 0; number < count; number++)
    if (handles[number]) dlclose(handles[number]);
  return dlopen(library, RTLD_LAZY | RTLD_LOCAL);
}
