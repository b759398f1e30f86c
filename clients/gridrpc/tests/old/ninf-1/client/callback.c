/* callback.c -- the server calls the client */
#include "ck.h"

static int asked, lines;
static char *kept[10];

parabola(x, y)
double x, *y;
{
    asked++;
    *y = x * x - 2;
    return 0;
}

give(size, k, part)
int size, k, *part;
{
    int i;
    for (i = 0; i < size; i++)
	part[i] = k;
}

say(text)
char *text;
{
    kept[lines++] = text;		/* is ours from now on */
}

int main()
{
    double x = 0;
    int steps = 0, i, id;
    long total = 0;
    char want[80];

    must(Ninf_call("zeroin", 0.0, 2.0, 1e-6, &x, &steps, parabola));
    check(x > 1.414213 && x < 1.414215);
    check(asked == steps + 1);
    must(id = Ninf_call_async("blocks", 4, 3, &total, give, say));
    must(Ninf_wait(id));
    check(total == 18);
    check(lines == 4);
    for (i = 0; i < lines; i++) {
	sprintf(want, "block %d of 4", i + 1);
	check(strcmp(kept[i], want) == 0);
	free(kept[i]);
    }
    done("callback");
}
