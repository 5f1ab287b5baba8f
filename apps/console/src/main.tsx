import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Refused } from './api/refused.ts';
import { router } from './router.tsx';
import './styles.css';
import { ToastProvider } from './ui/toast.tsx';

const queries: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // a refusal is an answer; only silence is retried
      retry: (failures, error) => !(error instanceof Refused) && failures < 2,
      refetchOnWindowFocus: false,
      staleTime: 1_000,
    },
  },
  queryCache: new QueryCache({
    onError: (error, query) => {
      // the token was revoked, or the session has ended: the gate asks for another
      if (error instanceof Refused && error.status === 401 && query.queryKey[0] !== '/api/session')
        void queries.invalidateQueries({ queryKey: ['/api/session'] });
    },
  }),
});

const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <RouterProvider router={router} />
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
