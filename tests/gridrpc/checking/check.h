/* What every program of these trees uses to say what it expects. */
#ifndef CHECK_H
#define CHECK_H

static int checks_passed, checks_failed;

#define CHECK(condition) \
    do { \
        if (condition) { \
            checks_passed++; \
        } else { \
            checks_failed++; \
            printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition); \
        } \
    } while (0)

/* The call returned this code; says which one it was otherwise. */
#define EXPECT(wanted, call) \
    do { \
        grpc_error_t got_ = (call); \
        if (got_ == (wanted)) { \
            checks_passed++; \
        } else { \
            checks_failed++; \
            printf("FAIL %s:%d: %s gave %d (%s), not %s\n", __FILE__, __LINE__, #call, (int) got_, \
                grpc_error_string(got_), #wanted); \
        } \
    } while (0)

static int check_summary(void)
{
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed ? 1 : 0;
}

#endif
