import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { type Said, useToast } from '../ui/toast.tsx';

/** An act of a person: one request, then a sentence, then the shown data is read again. A second click waits for the first. */
export function useAct() {
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const { say, fail, forgetFault } = useToast();
  const act = useCallback(
    async <T>(run: () => Promise<T>, said?: Said | ((answer: T) => Said)): Promise<T | undefined> => {
      setBusy(true);
      forgetFault();
      try {
        const answer = await run();
        const words = typeof said === 'function' ? said(answer) : said;
        if (words) say(words);
        return answer;
      } catch (error) {
        fail(error);
        return undefined;
      } finally {
        setBusy(false);
        void queries.invalidateQueries({ type: 'active' });
      }
    },
    [queries, say, fail, forgetFault],
  );
  return { act, busy };
}
