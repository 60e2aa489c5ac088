/*
 * Runs inputs through a fuzz target without a fuzzer.
 *
 * Linked with one fuzz_*.c, so that corpora and once-found inputs are tests on any compiler, and under valgrind or a
 * debugger. Arguments are files and folders (whose files are taken in the order of their names, deeper folders too);
 * each input sits in a heap block of exactly its size, so that a sanitizer sees the first byte read beyond it.
 * Prints how many inputs ran; no readable input named by the arguments is a failure, an empty folder is not.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Targets that have none are linked all the same. */
int			LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static unsigned long inputs;

static bool replay(const char *path);

static bool
complain(const char *path)
{
	fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
	return false;
}

static bool
replay_file(const char *path, size_t size)
{
	FILE	   *file = fopen(path, "rb");
	uint8_t    *data = malloc(size > 0 ? size : 1);
	bool		whole;

	if (file == NULL || data == NULL)
	{
		free(data);
		return complain(path);
	}
	whole = fread(data, 1, size, file) == size;
	fclose(file);
	if (whole)
	{
		LLVMFuzzerTestOneInput(data, size);
		inputs++;
	}
	free(data);
	return whole || complain(path);
}

static bool
replay_folder(const char *path)
{
	struct dirent **entries;
	int			count = scandir(path, &entries, NULL, alphasort);
	bool		good = true;

	if (count < 0)
		return complain(path);
	for (int i = 0; i < count; i++)
	{
		if (entries[i]->d_name[0] != '.')
		{
			size_t		room = strlen(path) + strlen(entries[i]->d_name) + 2;
			char	   *inner = malloc(room);

			if (inner == NULL)
				return complain(path);
			snprintf(inner, room, "%s/%s", path, entries[i]->d_name);
			good = replay(inner) && good;
			free(inner);
		}
		free(entries[i]);
	}
	free(entries);
	return good;
}

static bool
replay(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return complain(path);
	if (S_ISDIR(status.st_mode))
		return replay_folder(path);
	return replay_file(path, (size_t) status.st_size);
}

int
main(int argc, char **argv)
{
	bool		good = true;

	if (LLVMFuzzerInitialize != NULL)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		good = replay(argv[i]) && good;
	printf("%s: %lu inputs\n# kiln-count replayed %lu\n", argv[0], inputs, inputs);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
