/*
 * The module: its magic and its initialisation.
 */
#include "kiln_pg.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	kiln_registry_init();
}
